#pragma once

#include <string_view>

namespace lockstep {

/// Writes `text` and a line end to stderr, at once, so that lines of several threads do not mix. Control
/// characters, which names of files may hold, become question marks. Never throws: no run ends because nobody
/// listens.
void print_message(std::string_view text);

/// The same with "lockstep: warning: " before it; nothing where `text` is empty.
void print_warning(std::string_view text);

}  // namespace lockstep
