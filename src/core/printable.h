#pragma once

#include <string>
#include <string_view>

namespace lockstep {

/// Whether there are bytes in it below that of a space, such as line ends, or DEL.
bool has_control_characters(std::string_view text);

/// `text` with a question mark for each control character, those of Unicode's second block (U+0080 to U+009F)
/// too.
std::string without_control_characters(std::string_view text);

/// Text from outside for a message of one line: control characters become question marks, and what comes
/// after the first 100 bytes "...".
std::string printable(std::string_view text);

/// `text` without control characters, in single quotes.
std::string in_quotes(std::string_view text);

}  // namespace lockstep
