#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lockstep/network.h"

namespace lockstep {

/// Builds the model called `name` for images of `input` and `classes` classes. Throws Error(usage) for an
/// unknown name (naming the nearest) or images it cannot take.
std::unique_ptr<Network> make_model(const std::string& name, Shape input, int classes);
std::vector<std::string> model_names();

}  // namespace lockstep
