#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lockstep/network.h"

namespace lockstep {

/// Builds a model for images of shape `input` and `classes` classes. `name`: one of model_names(),
/// "mlp:256,128" with hidden layers of any widths, or a network file FILE.json (docs/network-files.md).
/// Throws Error(usage) for an unknown name (naming the nearest), mistakes in the file or images that do not
/// fit, Error(data) for a file that cannot be read.
std::unique_ptr<Network> make_model(const std::string& name, Shape input, int classes);
/// Throws the error of make_model for an unknown name.
void check_model_name(const std::string& name);
std::vector<std::string> model_names();

}  // namespace lockstep
