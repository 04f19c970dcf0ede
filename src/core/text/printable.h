#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// Whether `text` contains a byte below 0x20, such as a line end, or DEL.
bool has_control_characters(std::string_view text);

/// `text` with a question mark for each control character, including U+0080 to U+009F.
std::string without_control_characters(std::string_view text);

/// `text` for a one-line message: control characters become question marks, and a text over 100 bytes is cut
/// at a character boundary and followed by "...".
std::string printable(std::string_view text);

/// printable(text) in single quotes, for every user-supplied name or value that a message repeats.
std::string in_quotes(std::string_view text);

/// Up to `most` names, as printable() shows them: "cat, dog and 3 more".
std::string first_names(const std::vector<std::string>& names, std::size_t most = 10);

/// Number of bytes, rounded: "63 MiB", or from 1 GiB on "24.0 GiB".
std::string size_text(std::uint64_t bytes);

/// `text` with ASCII letters in lower case.
std::string in_small_letters(std::string text);

/// Plural of an English noun: "ranks", "micro-batches", "entries".
std::string plural(std::string_view noun);

/// "1 rank", "2 ranks", "0 ranks".
template <std::integral T>
std::string counted(T count, std::string_view noun) {
  return std::to_string(count) + " " + (count == 1 ? std::string(noun) : plural(noun));
}

}  // namespace lockstep
