#include "core/text/message.h"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <new>
#include <string>

#include "core/text/printable.h"

namespace lockstep {

namespace {
std::atomic<bool> line_is_open = false;
std::atomic<bool> gives_up = false;
}  // namespace

/// A pipe or terminal that poll() reports as writable accepts 4096 bytes without blocking.
bool wait_for_reader(int descriptor) {
  constexpr int milliseconds = 100, looks = 30;
  for (int look = 0; look < looks;) {
    pollfd events{.fd = descriptor, .events = POLLOUT, .revents = 0};
    if (descriptor < 0 || poll(&events, 1, milliseconds) > 0) return true;
    if (gives_up.load()) ++look;
  }
  return false;
}

bool wait_for_reader(std::FILE* stream) { return wait_for_reader(fileno(stream)); }

void give_up_blocked_output() noexcept { gives_up = true; }

void replace_last_line() { line_is_open = true; }

void print_message(std::string_view text) {
  if (text.empty()) return;
  const std::string line =
      (line_is_open.exchange(false) ? erase_line : "") + without_control_characters(text) + "\n";
  if (!wait_for_reader(stderr)) return;
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}

void print_warning(std::string_view text) {
  if (!text.empty()) print_message("lockstep: warning: " + std::string(text));
}

void print_warnings(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) print_warning(text);
}

Error as_error(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return {Category::resource, "out of memory"};
  } catch (const std::exception& error) {
    return {Category::internal, error.what()};
  } catch (...) {
    return {Category::internal, "unknown exception"};
  }
}

bool DeferredError::attempt(const std::function<void()>& work, const std::string& file) {
  const auto is_of_file = [&](const auto& failure) { return failure.first == file; };
  try {
    work();
    if (!file.empty()) std::erase_if(failures_, is_of_file);
    return true;
  } catch (...) {
    const Error failure = as_error(std::current_exception());
    print_warning(std::string(failure.what()) + "; the run continues without it");
    if (std::ranges::none_of(failures_, is_of_file)) failures_.emplace_back(file, failure);
    return false;
  }
}

void DeferredError::rethrow() const {
  if (!failures_.empty()) throw Error(failures_.front().second);
}

}  // namespace lockstep
