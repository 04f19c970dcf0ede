#pragma once

#include <sched.h>

#include <cfenv>
#include <vector>

namespace lockstep {

/// Logical processors for `threads` executors of this rank: one for each core first. The cores that the
/// process is bound to are shared with the host's other ranks when the launcher bound none of them (every
/// rank sees all cores): then this rank takes its part. Empty when there are fewer cores than threads:
/// nothing is pinned.
std::vector<int> processors_for_executors(int threads, int local_rank, int local_size);

/// What a device changes on the thread that makes it, put back when destroyed: the cores it is bound to and
/// the treatment of denormals. Made and destroyed on the same thread.
class ThreadState {
 public:
  ThreadState();
  ~ThreadState();
  ThreadState(const ThreadState&) = delete;
  ThreadState& operator=(const ThreadState&) = delete;

 private:
  cpu_set_t processors_{};
  bool bound_ = false;
  std::fenv_t arithmetic_{};
};

/// Binds the calling thread to one logical processor. Failure is not an error: the thread stays free.
void pin_this_thread(int processor);

/// Denormal results and inputs are zeros, on this thread. Alike on all executors, so that bits do not depend
/// on which one computes.
void flush_denormals_to_zero();

}  // namespace lockstep
