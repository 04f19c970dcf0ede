#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <ranges>
#include <span>
#include <string>
#include <vector>

#include "core/as_text.h"
#include "lockstep/world.h"

namespace lockstep {

/// Values of all ranks, in rank order; for small types without pointers. Every rank passes as many.
/// Collective.
template <std::ranges::contiguous_range Values>
auto gather(const World& world, const Values& own) {
  const std::vector<std::byte> bytes = world.all_gather(std::as_bytes(std::span(own)));
  std::vector<std::ranges::range_value_t<Values>> all(bytes.size() / sizeof(*std::data(own)));
  std::memcpy(all.data(), bytes.data(), bytes.size());
  return all;
}

/// Rank 0's text on every rank. Collective.
inline std::string broadcast(const World& world, const std::string& own) {
  return std::string(as_text(world.broadcast(std::as_bytes(std::span(own)))));
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
