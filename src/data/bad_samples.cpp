#include "data/bad_samples.h"

#include <fmt/format.h>

#include <cstdio>

#include "lockstep/error.h"

namespace lockstep {

void BadSamples::add(std::uint64_t id, const std::string& reason) {
  if (strict_) {
    throw Error(Category::data, reason);
  }
  const std::lock_guard lock(mutex_);
  if (ids_.insert(id).second) {
    fmt::print(stderr, "lockstep: warning: {}; left out\n", reason);
  }
}

std::uint64_t BadSamples::count() const {
  const std::lock_guard lock(mutex_);
  return ids_.size();
}

}  // namespace lockstep
