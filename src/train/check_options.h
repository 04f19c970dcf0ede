#pragma once

#include <cstdint>

#include "lockstep/training_options.h"

namespace lockstep {

/// Throws Error(usage) for options that are impossible together, with this many ranks or with this many
/// training samples. Each is possible by itself (check_fields); `batch.micro_batches` is resolved.
void check_options(const TrainerOptions& options, int ranks, std::uint64_t train_size);

}  // namespace lockstep
