#include "core/text/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace lockstep {
namespace {

bool is_control_character(char letter) { return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f; }

/// Whether a byte of UTF-8 continues a character.
bool continues_character(char letter) { return (static_cast<unsigned char>(letter) & 0xc0) == 0x80; }

}  // namespace

bool has_control_characters(std::string_view text) { return std::ranges::any_of(text, is_control_character); }

std::string without_control_characters(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool c1_control = text[at] == '\xc2' && at + 1 < text.size() &&
                            static_cast<unsigned char>(text[at + 1]) >= 0x80 &&
                            static_cast<unsigned char>(text[at + 1]) < 0xa0;
    result += c1_control || is_control_character(text[at]) ? '?' : text[at];
    at += c1_control ? 1 : 0;
  }
  return result;
}

std::string printable(std::string_view text) {
  constexpr std::size_t longest = 100, most_bytes = 4;  // bytes of a text and of a character
  if (text.size() <= longest) return without_control_characters(text);
  std::size_t end = longest;
  while (end > longest - most_bytes && continues_character(text[end])) --end;
  return without_control_characters(text.substr(0, end)) + "...";
}

std::string size_text(std::uint64_t bytes) {
  const double size = static_cast<double>(bytes) / (1 << 20);
  return size < 1024.0 ? fmt::format("{:.0f} MiB", size) : fmt::format("{:.1f} GiB", size / 1024.0);
}

std::string first_names(const std::vector<std::string>& names, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) {
    text += (i == 0 ? "" : ", ") + printable(names[i]);
  }
  return names.size() <= most ? text : fmt::format("{} and {} more", text, names.size() - most);
}

std::string in_quotes(std::string_view text) { return fmt::format("'{}'", printable(text)); }

std::string in_small_letters(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string plural(std::string_view noun) {
  if (noun.ends_with("epoch")) return std::string(noun) + "s";
  if (noun.ends_with('y')) return std::string(noun.substr(0, noun.size() - 1)) + "ies";
  const bool hisses = noun.ends_with('s') || noun.ends_with("ch") || noun.ends_with('x');
  return std::string(noun) + (hisses ? "es" : "s");
}

}  // namespace lockstep
