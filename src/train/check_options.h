#pragma once

#include <cstdint>
#include <string>

#include "lockstep/dataset.h"
#include "lockstep/network.h"
#include "lockstep/training_options.h"

namespace lockstep {

/// Throws Error(usage) for options that contradict each other, the number of ranks or the number of training
/// samples. Each option must already have passed check_fields, and `batch.micro_batches` must be resolved.
void check_options(const TrainerOptions& options, int ranks, std::uint64_t train_size);

/// Throws Error(usage) if the batch size is still by_data, not a number.
void check_size(const BatchOptions& batch);

/// Throws Error(usage) if a mean or deviation of pixels is outside [0, 1], the range of pixels for the
/// network. Means and deviations of tables may have any value.
void check_input(const InputOptions& input, Encoding encoding);

/// Throws Error(usage) unless `weights` is empty, or has one weight per rank and at least one above 0.
void check_rank_weights(const std::vector<double>& weights, int ranks);

/// Throws Error(usage) unless the data set fits the network: samples of the same shape, no more classes than
/// the network has (for other tasks, exactly as many targets), at least one sample, and either no class names
/// or one per class. `part`: name of the data set in messages.
void check_fit(const Network& network, const Dataset& dataset, const std::string& part = "data set");

/// Throws Error(data) for a label or target that is invalid for the task, naming the sample, and for a
/// target_scale() of a regression that is not finite or has no deviation above 0. Of more than 16 million
/// samples, checks at most that many.
void check_targets(const Dataset& dataset, const std::string& part = "data set");

/// Runs check_fit and check_targets on `dataset`, a part of the data of a run that trains on `train`. Also
/// throws Error(usage) unless both have the same task.
void check_part(const Network& network, const Dataset& train, const Dataset& dataset,
                const std::string& part);

}  // namespace lockstep
