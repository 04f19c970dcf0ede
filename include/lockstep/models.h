#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lockstep/network.h"

namespace lockstep {

/// Builds the model called `name` for images of `input` and `classes` classes: one of model_names();
/// "mlp:256,128" with hidden layers of any widths; or a network file, FILE.json (docs/network-files.md).
/// Throws Error(usage) for an unknown name (naming the nearest), mistakes in the file or images it cannot
/// take, Error(data) for a file that cannot be read.
std::unique_ptr<Network> make_model(const std::string& name, Shape input, int classes);
/// Throws Error(usage) where make_model would because of the name.
void check_model_name(const std::string& name);
std::vector<std::string> model_names();

}  // namespace lockstep
