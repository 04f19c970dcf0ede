#pragma once

#include <vector>

namespace lockstep {

/// Logical processors for `threads` executors of this rank, each on a core of its own. If the launcher bound
/// no rank (every rank sees all cores), the host's ranks divide the cores. Empty: there are fewer cores than
/// threads, or more than the cpu_limit of a container, and nothing is to be pinned.
std::vector<int> processors_for_executors(int threads, int local_rank, int local_size);

/// Saves the calling thread's binding to cores and its treatment of denormals. They are restored when the
/// last of these objects of the thread is destroyed, on that thread and in any order.
class ThreadState {
 public:
  ThreadState();
  ~ThreadState();
  ThreadState(const ThreadState&) = delete;
  ThreadState& operator=(const ThreadState&) = delete;
};

/// Binds the calling thread to one logical processor. On failure the thread stays unbound.
void pin_this_thread(int processor);

/// Makes denormal results and inputs zeros on this thread. All executors do so: bits do not depend on which
/// one computes.
void flush_denormals_to_zero();

}  // namespace lockstep
