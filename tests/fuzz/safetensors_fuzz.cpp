#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lockstep/model_file.h"
#include "may_refuse.h"

namespace {

volatile float sink;

/// Reads all bytes of all tensors, so that the sanitizer checks them, and all F32 tensors as floats.
void read_all(const lockstep::ModelFile& model) {
  for (const lockstep::TensorInfo& tensor : model.tensors()) {
    for (const std::byte value : model.bytes(tensor)) sink = static_cast<float>(value);
    for (const float value : model.floats(tensor.name, tensor.shape)) sink = value;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  return may_refuse([&] { read_all(lockstep::ModelFile::parse({bytes.begin(), bytes.end()}, "file")); });
}
