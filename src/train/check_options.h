#pragma once

#include <cstdint>

#include "lockstep/dataset.h"
#include "lockstep/network.h"
#include "lockstep/training_options.h"

namespace lockstep {

/// Throws Error(usage) for options that are impossible together, with this number of ranks or of training
/// samples. Each must be possible by itself (check_fields), `batch.micro_batches` resolved.
void check_options(const TrainerOptions& options, int ranks, std::uint64_t train_size);

/// Throws Error(usage) unless the batch size is a number.
void check_size(const BatchOptions& batch);

/// Throws Error(usage) for a mean or a deviation of pixels that are not numbers from 0 to 1, as pixels are
/// for the network. Tables may have any.
void check_input(const InputOptions& input, Encoding encoding);

/// Throws Error(usage) unless the network can take the data set: images of the same shape, no more classes
/// (for other tasks, as many targets), at least one sample.
void check_fit(const Network& network, const Dataset& dataset);

}  // namespace lockstep
