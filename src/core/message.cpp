#include "core/message.h"

#include <cstdio>
#include <string>

#include "core/printable.h"

namespace lockstep {

void print_message(std::string_view text) {
  const std::string line = without_control_characters(text) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

void print_warning(std::string_view text) {
  if (!text.empty()) print_message("lockstep: warning: " + std::string(text));
}

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
