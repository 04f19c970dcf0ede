#include "run/checkpoint/model_writer.h"

#include <algorithm>
#include <cstdint>

#include "run/checkpoint/model_header.h"

namespace lockstep {
namespace {

void write_in_chunks(AtomicFile& output, std::span<const std::byte> bytes) {
  constexpr std::size_t chunk = std::size_t{8} << 20;
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(bytes.size(), chunk))) {
    output.write(bytes.first(std::min(bytes.size(), chunk)));
  }
}

}  // namespace

void write_model(AtomicFile& output, std::span<const NamedTensor> tensors,
                 const std::map<std::string, std::string>& metadata) {
  const std::string json = make_model_header(tensors, metadata);
  const std::uint64_t length = json.size();
  output.write(std::as_bytes(std::span(&length, 1)));
  output.write(std::as_bytes(std::span(json)));
  for (const NamedTensor& tensor : tensors) write_in_chunks(output, tensor.bytes());
}

}  // namespace lockstep
