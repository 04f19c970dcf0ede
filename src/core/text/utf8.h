#pragma once

#include <string_view>

namespace lockstep {

/// U+FEFF, with which some editors begin a text file.
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

/// Whether `text` is valid UTF-8 (RFC 3629): no stray bytes, overlong encodings or surrogates.
bool is_utf8(std::string_view text);

}  // namespace lockstep
