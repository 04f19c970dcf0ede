#include "core/text/utf8.h"

#include <cstddef>
#include <cstdint>

namespace lockstep {
namespace {

/// Number of bytes that follow `first` in the encoding of a character; -1 if no character begins with
/// `first`.
int following_bytes(unsigned char first) {
  if (first < 0x80) return 0;
  if (first < 0xc2 || first > 0xf4) return -1;
  return first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
}

}  // namespace

bool is_utf8(std::string_view text) {
  constexpr std::uint32_t smallest[] = {0, 0x80, 0x800, 0x10000};
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto first = static_cast<unsigned char>(text[at]);
    const int following = following_bytes(first);
    if (following < 0 || text.size() - at <= static_cast<std::size_t>(following)) return false;
    std::uint32_t character = following == 0 ? first : first & (0x3fU >> following);
    for (int i = 0; i < following; ++i) {
      const auto next = static_cast<unsigned char>(text[++at]);
      if ((next & 0xc0U) != 0x80U) return false;
      character = character << 6 | (next & 0x3fU);
    }
    const bool surrogate = character >= 0xd800 && character < 0xe000;
    if (character < smallest[following] || character > 0x10ffff || surrogate) return false;
  }
  return true;
}

}  // namespace lockstep
