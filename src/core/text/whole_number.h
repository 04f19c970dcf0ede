#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>

namespace lockstep {

/// Value of a text that consists of a whole number and nothing else; nullopt if it does not, or if the number
/// does not fit T.
template <std::integral T>
std::optional<T> whole_number(std::string_view text) {
  T value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  return status == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

/// Part of `name` between `prefix` and `suffix`; empty if `name` lacks them.
inline std::string_view middle_of(std::string_view name, std::string_view prefix, std::string_view suffix) {
  const std::size_t ends = prefix.size() + suffix.size();
  if (name.size() <= ends || !name.starts_with(prefix) || !name.ends_with(suffix)) return {};
  return name.substr(prefix.size(), name.size() - ends);
}

}  // namespace lockstep
