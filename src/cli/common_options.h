#pragma once

#include <cstdint>
#include <string>

#include "cli/option_set.h"
#include "lockstep/dataset.h"
#include "lockstep/execution.h"
#include "lockstep/input.h"
#include "lockstep/shape.h"
#include "lockstep/training_options.h"

namespace lockstep {

/// Options that several subcommands have. Declared here once, they take the same values everywhere, so that
/// any subcommand reads the options.cfg of a run. The caller names the group before.

/// --model: a name that make_model takes. `help` says what it is for.
void declare_model(OptionSet& set, const std::string& help, std::string& model);

/// --dataset, --data-dir and what single data sets can be told.
void declare_data(OptionSet& set, std::string& dataset, DatasetOptions& options);

/// --mean, --std, --crop-pct and --strict: what is done to every sample.
void declare_input(OptionSet& set, InputOptions& input);

/// Random changes of the training images.
void declare_augmentation(OptionSet& set, AugmentOptions& augment);

/// --batch-size and --micro-batches; 0 micro-batches stand for auto.
void declare_batch(OptionSet& set, std::uint32_t& batch_size, std::uint32_t& micro_batches);

/// --reduce
void declare_reduce(OptionSet& set, Reduce& reduce);

/// --device, --dtype, --threads, --transport and the like; 0 threads stand for auto.
void declare_execution(OptionSet& set, ExecutionOptions& options);

/// "3x224x224": channels, rows, columns. Throws Error(usage).
Shape parse_shape(const std::string& text);

}  // namespace lockstep
