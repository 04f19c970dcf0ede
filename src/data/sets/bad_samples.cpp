#include "data/sets/bad_samples.h"

#include <algorithm>
#include <span>

#include "comm/world/gather.h"
#include "core/text/message.h"
#include "lockstep/error.h"

namespace lockstep {

void BadSamples::add(std::uint64_t id, const std::string& reason) {
  if (strict_) {
    throw Error(Category::data, reason);
  }
  const std::lock_guard lock(mutex_);
  if (keeps_places_) {
    recorded_.emplace_back(id, reason);
    return;
  }
  if (!ids_.insert(id).second) return;
  unshared_.push_back(id);
  if (ids_.size() > max_warnings + 1) return;
  if (ids_.size() <= max_warnings) {
    print_warning(reason + "; skipped");
  } else {
    print_warning("further samples that cannot be read are only counted");
  }
}

std::vector<std::pair<std::uint64_t, std::string>> BadSamples::take() {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::uint64_t, std::string>> taken = std::exchange(recorded_, {});
  std::ranges::sort(taken);
  return taken;
}

void BadSamples::share(const World& world) {
  constexpr std::uint64_t none = ~std::uint64_t{0};
  const std::lock_guard lock(mutex_);
  const std::uint64_t count = unshared_.size();
  const std::uint64_t max_count = std::ranges::max(gather(world, std::span(&count, 1)));
  if (max_count == 0) return;
  unshared_.resize(max_count, none);
  for (const std::uint64_t id : gather(world, unshared_)) {
    if (id != none) ids_.insert(id);
  }
  unshared_.clear();
}

std::uint64_t BadSamples::count() const {
  const std::lock_guard lock(mutex_);
  return ids_.size();
}

}  // namespace lockstep
