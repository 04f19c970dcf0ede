#pragma once

#include <functional>
#include <future>

namespace lockstep {

/// Runs `work` on a thread of its own; where the system has none left, within this call. The result waits for
/// it, and has its error.
std::future<void> in_background(const std::function<void()>& work);

}  // namespace lockstep
