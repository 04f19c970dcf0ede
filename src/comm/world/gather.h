#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/as_text.h"
#include "core/text/split.h"
#include "lockstep/world.h"

namespace lockstep {

/// Returns the values of all ranks, in rank order; for small types without pointers. Every rank must pass the
/// same number of values. Collective.
template <std::ranges::contiguous_range Values>
auto gather(const World& world, const Values& own) {
  const std::vector<std::byte> bytes = world.all_gather(std::as_bytes(std::span(own)));
  std::vector<std::ranges::range_value_t<Values>> all(bytes.size() / sizeof(*std::data(own)));
  std::memcpy(all.data(), bytes.data(), bytes.size());
  return all;
}

/// Returns the text of rank `from` on every rank. Collective.
inline std::string broadcast(const World& world, const std::string& own, int from = 0) {
  return std::string(as_text(world.broadcast(std::as_bytes(std::span(own)), from)));
}

/// Joins texts into one, with a zero byte after each. No text may contain a zero byte.
inline std::string pack(const std::vector<std::string>& texts) {
  std::string packed;
  for (const std::string& text : texts) packed.append(text) += '\0';
  return packed;
}

inline std::vector<std::string> unpack(std::string_view packed) {
  std::vector<std::string> texts = split(packed, '\0');
  texts.pop_back();  // empty, after the last zero byte
  return texts;
}

/// Returns rank 0's texts on every rank. Collective.
inline std::vector<std::string> broadcast(const World& world, const std::vector<std::string>& own) {
  return unpack(broadcast(world, pack(own)));
}

/// Text of a fixed size, which ranks can send as bytes. Longer texts are cut off.
template <std::size_t capacity>
struct FixedText {
  std::array<char, capacity> characters{};

  FixedText() = default;
  FixedText(const std::string& text) {  // NOLINT(google-explicit-constructor): a value like any text
    text.copy(characters.data(), capacity - 1);
  }
  std::string text() const { return characters.data(); }
  bool empty() const { return characters[0] == '\0'; }
};

}  // namespace lockstep
