#pragma once

#include <map>
#include <span>
#include <string>

#include "core/files/atomic_file.h"
#include "lockstep/model_file.h"

namespace lockstep {

/// Writes the tensors in this order, in the safetensors format, and in calls of at most 8 MiB. Throws
/// Error(internal) as make_model_header does, and the errors of AtomicFile.
void write_model(AtomicFile& output, std::span<const NamedTensor> tensors,
                 const std::map<std::string, std::string>& metadata);

}  // namespace lockstep
