#include "data/bad_samples.h"

#include "core/message.h"
#include "lockstep/error.h"

namespace lockstep {

void BadSamples::add(std::uint64_t id, const std::string& reason) {
  if (strict_) {
    throw Error(Category::data, reason);
  }
  const std::lock_guard lock(mutex_);
  if (!ids_.insert(id).second || ids_.size() > most_warnings + 1) return;
  if (ids_.size() <= most_warnings) {
    print_warning(reason + "; left out");
  } else {
    print_warning("further samples that cannot be read are only counted");
  }
}

std::uint64_t BadSamples::count() const {
  const std::lock_guard lock(mutex_);
  return ids_.size();
}

}  // namespace lockstep
