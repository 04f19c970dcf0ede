#pragma once

#include <functional>
#include <future>

namespace lockstep {

/// Runs `work` on a new thread, or within this call if the system has no thread left. The result waits for
/// it, and has its error.
std::future<void> in_background(const std::function<void()>& work);

}  // namespace lockstep
