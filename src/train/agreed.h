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

/// The same, where what is made comes from a file that rank 0 writes (ExecutionOptions::plan_cache): it goes
/// first.
template <class Make>
auto rank_0_first(const World& world, bool has_file, const Make& make) {
  std::optional<decltype(make())> made;
  world.agree([&] {
    if (!has_file || world.rank() == 0) made.emplace(make());
  });
  if (has_file) {
    world.agree([&] {
      if (world.rank() != 0) made.emplace(make());
    });
  }
  return std::move(*made);
}

}  // namespace lockstep
