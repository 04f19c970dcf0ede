#pragma once

#include <cstdint>

#include "lockstep/training_options.h"

namespace lockstep {

/// Throws Error(usage) for options that are impossible by themselves, with this many ranks or with this many
/// training samples; those of optimizer and schedule are checked where these are made. `micro_batches` is
/// resolved.
void check_options(const TrainerOptions& options, int ranks, std::uint64_t train_size);

}  // namespace lockstep
