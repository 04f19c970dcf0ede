#pragma once

#include <string>
#include <string_view>

namespace lockstep {

/// Whether there are bytes in it below that of a space, such as line ends, or DEL.
bool has_control_characters(std::string_view text);

/// Text from outside for a message of one line: control characters become question marks, and what comes
/// after the first 100 bytes "...".
std::string printable(std::string_view text);

}  // namespace lockstep
