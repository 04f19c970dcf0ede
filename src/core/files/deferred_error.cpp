#include "core/files/deferred_error.h"

#include "core/message.h"

namespace lockstep {

bool DeferredError::attempt(const std::function<void()>& work) {
  std::optional<Error> failure;
  try {
    work();
  } catch (const Error& error) {
    failure = error;
  } catch (const std::exception& error) {
    failure.emplace(Category::internal, error.what());
  }
  if (!failure) return true;
  print_warning(std::string(failure->what()) + "; the run goes on without it");
  if (!first_) first_ = failure;
  return false;
}

void DeferredError::rethrow() const {
  if (first_) throw Error(*first_);
}

}  // namespace lockstep
