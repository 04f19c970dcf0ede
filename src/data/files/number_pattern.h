#pragma once

#include <string>
#include <vector>

namespace lockstep {

/// Expands number ranges in a pattern: "train-{00..09}.tar" yields train-00.tar to train-09.tar. With several
/// ranges, the last one varies fastest. If the first bound begins with 0, numbers are padded with zeros to
/// its width. A pattern without braces yields itself. Throws Error(usage) naming the pattern for a brace
/// without a range, and for more than 100,000 names.
std::vector<std::string> expand_numbers(const std::string& pattern);

}  // namespace lockstep
