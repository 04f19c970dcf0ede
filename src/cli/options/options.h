#pragma once

#include <string>
#include <vector>

#include "cli/options/option_set.h"
#include "cli/train_options.h"

namespace lockstep {

/// The options of `lockstep train`, with their checks. `options` outlives it.
OptionSet train_option_set(TrainOptions& options);

/// Contents of options.cfg: `lockstep train --config` on it gives equal options, but --progress auto.
std::string train_config(const TrainOptions& options);

/// Names that configuration files and the environment may hold: for OptionSet::ignore of the others.
std::vector<std::string> train_option_names();

}  // namespace lockstep
