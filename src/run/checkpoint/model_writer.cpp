#include "run/checkpoint/model_writer.h"

#include <algorithm>
#include <cstdint>

#include "run/checkpoint/model_header.h"

namespace lockstep {

void write_model(const WriteBytes& write, std::span<const NamedTensor> tensors,
                 const std::map<std::string, std::string>& metadata) {
  constexpr std::size_t max_bytes = std::size_t{8} << 20;
  const std::string json = make_model_header(tensors, metadata);
  const std::uint64_t length = json.size();
  write(std::as_bytes(std::span(&length, 1)));
  write(std::as_bytes(std::span(json)));
  for (const NamedTensor& tensor : tensors) {
    for (std::span<const std::byte> rest = tensor.bytes(); !rest.empty();) {
      const std::size_t bytes = std::min(rest.size(), max_bytes);
      write(rest.first(bytes));
      rest = rest.subspan(bytes);
    }
  }
}

}  // namespace lockstep
