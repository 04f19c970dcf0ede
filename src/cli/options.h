#pragma once

#include <string>
#include <vector>

#include "cli/train_options.h"

namespace lockstep {

/// What `lockstep train` was asked for: options, or, when `help` is not empty, to print that text.
struct TrainRequest {
  TrainOptions options;
  std::string help;
};

/// Options of `lockstep train` from the command line (argv[0] is "train"), then LOCKSTEP_KEY in
/// `environment` (as environ, or null), then --config FILE, then the defaults. Throws Error(usage) for
/// everything that can be judged without knowing the ranks and the machine.
TrainRequest parse_train_options(int argc, const char* const* argv, const char* const* environment);

/// Checks that concern several options. Throws Error(usage) naming them and their values.
void check_train_options(const TrainOptions& options);

/// Contents of options.cfg: `lockstep train --config` on it gives equal options, but --progress auto.
std::string train_config(const TrainOptions& options);

/// Names that configuration files and the environment may hold: for OptionSet::pass_over of the others.
std::vector<std::string> train_option_names();

/// Largest learning rate of the run: --lr, scaled from --lr-base-batch-size to --batch-size.
double scaled_learning_rate(const TrainOptions& options);

}  // namespace lockstep
