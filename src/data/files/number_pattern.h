#pragma once

#include <string>
#include <vector>

namespace lockstep {

/// Names for which a pattern stands: "train-{00..09}.tar" for train-00.tar to train-09.tar. Of several
/// ranges, the last one changes first. Numbers have at least as many digits as the first bound if it begins
/// with 0. A pattern without braces stands for itself. Throws Error(usage) with the pattern for a brace
/// without range, and for more than 100,000 names.
std::vector<std::string> expand_numbers(const std::string& pattern);

}  // namespace lockstep
