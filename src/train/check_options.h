#pragma once

#include <cstdint>
#include <string>

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

/// Throws Error(usage) unless there are no weights, or one for each rank.
void check_rank_weights(const std::vector<double>& weights, int ranks);

/// Throws Error(usage) unless the network can take the data set: images of the same shape, no more classes
/// (for other tasks, as many targets), at least one sample, and no names of classes or one for each. `part`:
/// name of the data set in messages.
void check_fit(const Network& network, const Dataset& dataset, const std::string& part = "data set");

/// Throws Error(data), naming the sample, for a label or targets that its task does not have, or a scale of
/// the targets that is not one. Of data sets of more than 16 million samples, checks as many.
void check_targets(const Dataset& dataset, const std::string& part = "data set");

/// Does both for a part of the data of a run that trains on `train`, and throws Error(usage) unless their
/// tasks are equal.
void check_part(const Network& network, const Dataset& train, const Dataset& dataset,
                const std::string& part);

}  // namespace lockstep
