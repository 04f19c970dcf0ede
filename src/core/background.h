#pragma once

#include <functional>
#include <future>
#include <thread>

namespace lockstep {

/// Runs `work` on a new thread. Throws Error(resource) if the system has no thread left.
std::thread start_thread(std::function<void()> work);

/// Runs `work` on a new thread, or within this call if the system has no thread left. The returned future
/// waits for `work` and rethrows its error.
std::future<void> in_background(const std::function<void()>& work);

}  // namespace lockstep
