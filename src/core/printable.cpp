#include "core/printable.h"

namespace lockstep {

std::string printable(std::string_view text) {
  constexpr std::size_t longest = 100;
  std::string result;
  for (const char letter : text.substr(0, longest)) {
    result += static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f ? '?' : letter;
  }
  return result + (text.size() > longest ? "..." : "");
}

}  // namespace lockstep
