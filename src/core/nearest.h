#pragma once

#include <span>
#include <string>
#include <string_view>

namespace lockstep {

/// The known name that `name` was probably meant to be: fewest insertions, deletions, replacements and
/// swaps of neighbours, or the only one that starts with it. Empty when nothing is near.
std::string nearest(std::string_view name, std::span<const std::string> known);

/// "unknown model 'lenett'; did you mean 'lenet'? known: lenet, resnet18". `kind` is the word for what is
/// named: "model", "data set", "option". Up to 20 names are all listed, of more the first 12.
std::string unknown_name(std::string_view kind, std::string_view name, std::span<const std::string> known);

/// "; did you mean PREFIXname?" with the nearest of `known`; empty when none is near.
std::string suggestion(std::string_view name, std::span<const std::string> known,
                       std::string_view prefix = "");

}  // namespace lockstep
