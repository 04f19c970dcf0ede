#include "core/printable.h"

#include <algorithm>

namespace lockstep {
namespace {

bool is_control_character(char letter) { return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f; }

}  // namespace

bool has_control_characters(std::string_view text) { return std::ranges::any_of(text, is_control_character); }

std::string printable(std::string_view text) {
  constexpr std::size_t longest = 100;
  std::string result;
  for (const char letter : text.substr(0, longest)) {
    result += is_control_character(letter) ? '?' : letter;
  }
  return result + (text.size() > longest ? "..." : "");
}

}  // namespace lockstep
