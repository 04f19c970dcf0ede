#pragma once

#include <vector>

namespace lockstep {

/// Logical processors for `threads` executors of this rank, each on a separate core. If the launcher did not
/// bind the ranks (every rank sees all cores), the host's ranks divide the cores. Empty, so that nothing is
/// pinned, if there are fewer cores than threads or if the cpu_limit of a container is below the number of
/// cores.
std::vector<int> processors_for_executors(int threads, int local_rank, int local_size);

/// Saves the calling thread's core binding and denormal mode. Both are restored when the thread's last
/// ThreadState is destroyed. The objects must be destroyed on that thread, in any order.
class ThreadState {
 public:
  ThreadState();
  ~ThreadState();
  ThreadState(const ThreadState&) = delete;
  ThreadState& operator=(const ThreadState&) = delete;
};

/// Binds the calling thread to one logical processor. On failure the thread stays unbound.
void pin_this_thread(int processor);

/// Flushes denormal inputs and results to zero on this thread. All executors do so; a result's bits do not
/// depend on which executor computes it.
void flush_denormals_to_zero();

}  // namespace lockstep
