#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "lockstep/model_file.h"

namespace lockstep {

/// Receives bytes of a file, in order.
using WriteBytes = std::function<void(std::span<const std::byte>)>;

/// Writes the tensors in this order, in the safetensors format, and in calls of at most 8 MiB for the data.
/// Throws Error(internal) as make_model_header does, and the errors of `write`.
void write_model(const WriteBytes& write, std::span<const NamedTensor> tensors,
                 const std::map<std::string, std::string>& metadata);

}  // namespace lockstep
