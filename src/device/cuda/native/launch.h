#pragma once

#include <cuda_runtime.h>

#include "device/cuda/block_sum.h"
#include "device/cuda/launch.h"
#include "device/cuda/native/check.h"

/// Functions of launch_on_host.h for the GPU.
namespace lockstep::cuda {

template <class Work>
__global__ void each_kernel(std::size_t count, const Work work) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) work(i);
}

/// The calling thread of a block of row_threads, for add_over_block.
struct BlockThread {
  std::uint32_t* memory;

  __device__ unsigned number() const { return threadIdx.x; }
  __device__ void store(unsigned slot, std::uint32_t word) const { memory[slot] = word; }
  __device__ std::uint32_t load(unsigned slot) const { return memory[slot]; }
  __device__ void wait() const { __syncthreads(); }
  __device__ std::uint32_t from_above(std::uint32_t word, unsigned apart) const {
    return __shfl_down_sync(0xffffffffU, word, apart);
  }
};

template <class Work>
__global__ void row_kernel(const Work work) {
  using Sum = typename Work::Sum;
  __shared__ std::uint32_t memory[SumWords<Sum>::count * block_sum_slots];
  const auto place = place_in(work, std::size_t{blockIdx.x});
  const std::size_t terms = work.terms(place);
  Sum sum{};
  for (std::size_t k = threadIdx.x; k < terms; k += row_threads) sum += work.term(place, k);
  sum = add_over_block(sum, 1, BlockThread{memory});
  if (threadIdx.x == 0) work.finish(place, sum);
}

template <class Work>
void for_each(StreamHandle stream, std::size_t count, const Work& work) {
  constexpr unsigned threads = 256;
  if (count == 0) return;
  each_kernel<<<static_cast<unsigned>((count + threads - 1) / threads), threads, 0, stream>>>(count, work);
  check_cuda(cudaGetLastError(), "kernel launch");
}

template <class Work>
void for_each_row(StreamHandle stream, std::size_t rows, const Work& work) {
  if (rows == 0) return;
  row_kernel<<<static_cast<unsigned>(rows), row_threads, 0, stream>>>(work);
  check_cuda(cudaGetLastError(), "kernel launch");
}

}  // namespace lockstep::cuda
