#include "fuzz.h"
#include "lockstep/model_file.h"

namespace {

volatile float sink;

/// Reads all bytes of all tensors, so that the sanitizer checks them, and all F32 tensors as floats.
void read_input(std::span<const std::byte> file) {
  const auto model = lockstep::ModelFile::parse({file.begin(), file.end()}, "file");
  for (const lockstep::TensorInfo& tensor : model.tensors()) {
    for (const std::byte value : model.bytes(tensor)) sink = static_cast<float>(value);
    for (const float value : model.floats(tensor.name, tensor.shape)) sink = value;
  }
}

const Parser safetensors("safetensors", read_input);

}  // namespace
