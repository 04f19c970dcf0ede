#pragma once

#include <cuda_runtime.h>

#include "device/cuda/native/block_size.h"

/// The threads of a block. Kernels call these functions instead of using threadIdx, so that the host can run
/// the threads of a block in turn (tests/fake_cuda/host implements these functions for the host).
namespace lockstep::cuda {

/// Calls use(t) in each thread t of the block, in any order.
template <class Use>
__device__ void for_each_thread(const Use& use) {
  use(threadIdx.x);
}

/// One value per thread of the block: make(t) for thread t. Only thread t accesses its value.
template <class Value>
class PerThread {
 public:
  template <class Make>
  __device__ explicit PerThread(const Make& make) : own_(make(threadIdx.x)) {}
  __device__ Value& operator[](unsigned /*thread*/) { return own_; }
  __device__ const Value& operator[](unsigned /*thread*/) const { return own_; }

 private:
  Value own_;
};
template <class Make>
PerThread(const Make&) -> PerThread<std::invoke_result_t<Make, unsigned>>;

/// In the first warp, adds the sum of thread t + apart to the sum of each thread t < warp_threads - apart.
/// The sums of all other threads become undefined.
template <class Sum>
__device__ void add_over_warp(PerThread<Sum>& sums, unsigned apart) {
  if (threadIdx.x >= warp_threads) return;
  const auto given = std::bit_cast<SumWords<Sum>>(sums[threadIdx.x]);
  SumWords<Sum> other;
  for (unsigned w = 0; w < SumWords<Sum>::count; ++w) {
    other.words[w] = __shfl_down_sync(0xffffffffU, given.words[w], apart);
  }
  sums[threadIdx.x] += std::bit_cast<Sum>(other);
}

}  // namespace lockstep::cuda
