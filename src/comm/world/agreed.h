#pragma once

#include <optional>
#include <utility>

#include "lockstep/world.h"

namespace lockstep {

/// Returns the result of `make` after it has succeeded on every rank. If `make` has collective calls, nothing
/// that can fail on a single rank may come before them.
template <class Make>
auto agreed(const World& world, const Make& make) {
  std::optional<decltype(make())> made;
  world.agree([&] { made.emplace(make()); });
  return std::move(*made);
}

}  // namespace lockstep
