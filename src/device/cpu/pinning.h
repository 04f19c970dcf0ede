#pragma once

#include <vector>

namespace lockstep {

/// Logical processors for `threads` executors of this rank: one for each core first. The cores that the
/// process is bound to are shared with the host's other ranks when the launcher bound none of them (every
/// rank sees all cores): then this rank takes its part. Empty when there are fewer cores than threads:
/// nothing is pinned.
std::vector<int> processors_for_executors(int threads, int local_rank, int local_size);

/// Binds the calling thread to one logical processor. Failure is not an error: the thread stays free.
void pin_this_thread(int processor);

/// Denormal results and inputs are zeros, on this thread. Alike on all executors, so that bits do not depend
/// on which one computes.
void flush_denormals_to_zero();

}  // namespace lockstep
