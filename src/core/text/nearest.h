#pragma once

#include <span>
#include <string>
#include <string_view>

namespace lockstep {

/// The known name for what other programs call `name` ("gpu": "cuda"); else the known name that is the
/// smallest number of insertions, deletions, replacements and swaps of neighbours away from `name`; else the
/// only one that starts with `name`. Empty if no name is near.
std::string nearest(std::string_view name, std::span<const std::string> known);

/// Message such as "unknown model 'lenett'; did you mean 'lenet'? known: lenet, resnet18". `kind`: "model",
/// "data set", "option". Lists all names if there are up to 20, else the first 12.
std::string unknown_name(std::string_view kind, std::string_view name, std::span<const std::string> known);

/// End of a message, "; did you mean PREFIXname?", with the nearest known name; empty if none is near.
std::string suggestion(std::string_view name, std::span<const std::string> known,
                       std::string_view prefix = "");

}  // namespace lockstep
