#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/model_file.h"

namespace lockstep {

/// Offset of the header in a safetensors file, in bytes; the header's length precedes it.
constexpr std::size_t header_begin = 8;

/// Contents of the JSON header of a safetensors file.
struct ModelHeader {
  std::vector<TensorInfo> tensors;  ///< in the order of their data
  std::map<std::string, std::string> metadata;
};

/// Parses the header and checks it against a data section of `data_bytes`. Throws Error(data)
/// naming `origin` for any other schema. Memory is proportional to the length of `json`.
ModelHeader parse_model_header(std::string_view json, std::uint64_t data_bytes, const std::string& origin);

/// Receives bytes of a file, in order.
using WriteBytes = std::function<void(std::span<const std::byte>)>;

/// Writes the header and the tensors, in this order, in the safetensors format; passes data to `write` in
/// parts of at most 8 MiB. Throws Error(usage) for a name that is repeated, reserved or not UTF-8, for
/// metadata that is not UTF-8, and for a shape that does not fit the values; and the errors of `write`.
void write_model(const WriteBytes& write, std::span<const NamedTensor> tensors,
                 const std::map<std::string, std::string>& metadata);

}  // namespace lockstep
