#pragma once

#include <optional>
#include <utility>

#include "lockstep/world.h"

namespace lockstep {

/// What `make` returns, once it has succeeded on every rank. If ranks meet in it, nothing that only one of
/// them can fail at comes before.
template <class Make>
auto agreed(const World& world, const Make& make) {
  std::optional<decltype(make())> made;
  world.agree([&] { made.emplace(make()); });
  return std::move(*made);
}

}  // namespace lockstep
