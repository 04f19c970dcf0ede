#pragma once

#include <chrono>

namespace lockstep {

/// Time in which several SIGINT are one: a terminal and a launcher may both send the signal of one Ctrl-C,
/// and `timeout` sends one to a process and to its group.
inline constexpr std::chrono::milliseconds same_interrupt{500};

}  // namespace lockstep
