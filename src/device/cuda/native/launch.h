#pragma once

#include <cuda_runtime.h>

#include <typeinfo>

#include "device/cuda/block_sum.h"
#include "device/cuda/launch.h"
#include "device/cuda/native/check.h"
#include "device/kernel_times.h"

/// Starts a kernel. A test that runs kernels on threads of the host has its own (tests/block_threads).
#ifndef LOCKSTEP_LAUNCH
#define LOCKSTEP_LAUNCH(kernel, blocks, threads, stream, ...) \
  kernel<<<blocks, threads, 0, stream>>>(__VA_ARGS__)
#endif

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

/// Calls use(k, loaded) for the calling thread's terms k of its lane, in ascending order. Loads Work::ahead
/// of them before it uses the first.
template <class Work, class Place, class Use>
__device__ void for_each_loaded(const Work& work, const Place& place, std::size_t terms, unsigned lanes,
                                const Use& use) {
  const unsigned apart = row_threads / lanes;
  for (std::size_t k = threadIdx.x / lanes; k < terms; k += Work::ahead * apart) {
    decltype(work.load(place, k)) loaded[Work::ahead];
#pragma unroll
    for (unsigned u = 0; u < Work::ahead; ++u) {
      if (k + u * apart < terms) loaded[u] = work.load(place, k + u * apart);
    }
#pragma unroll
    for (unsigned u = 0; u < Work::ahead; ++u) {
      if (k + u * apart < terms) use(k + u * apart, loaded[u]);
    }
  }
}

/// Sum of the calling thread's lane; valid in threads below the number of lanes.
template <class Work, class Place>
__device__ typename Work::Sum sum_row(const Work& work, const Place& place, unsigned lanes) {
  using Sum = typename Work::Sum;
  __shared__ std::uint32_t memory[SumWords<Sum>::count * block_sum_slots];
  const std::size_t terms = work.terms(place);
  Sum sum{};
  if constexpr (requires { work.load(place, terms); }) {
    for_each_loaded(work, place, terms, lanes,
                    [&](std::size_t k, const auto& loaded) { sum += work.term(place, k, loaded); });
  } else {
    for (std::size_t k = threadIdx.x / lanes; k < terms; k += row_threads / lanes) sum += work.term(place, k);
  }
  return add_over_block(sum, lanes, BlockThread{memory});
}

template <class Work>
__global__ void row_kernel(const Work work) {
  const unsigned lanes = lanes_of(work);
  const auto place = place_in(work, std::size_t{blockIdx.x}, threadIdx.x % lanes);
  const auto sum = sum_row(work, place, lanes);
  if (threadIdx.x < lanes) work.finish(place, sum);
}

template <class Work, class Then>
__global__ void row_kernel(const Work work, const Then then) {
  using Result = typename Work::Result;
  alignas(alignof(Result)) __shared__ unsigned char memory[max_row_lanes * sizeof(Result)];
  Result* results = reinterpret_cast<Result*>(memory);
  {
    const unsigned lanes = lanes_of(work);
    const auto place = place_in(work, std::size_t{blockIdx.x}, threadIdx.x % lanes);
    const auto sum = sum_row(work, place, lanes);
    if (threadIdx.x < lanes) results[threadIdx.x] = work.finish(place, sum);
  }
  __syncthreads();
  const unsigned lanes = lanes_of(then);
  const auto place =
      place_in(then, std::size_t{blockIdx.x}, threadIdx.x % lanes, static_cast<const Result*>(results));
  for_each_loaded(then, place, then.terms(place), lanes,
                  [&](std::size_t k, const auto& loaded) { then.store(place, k, loaded); });
}

/// Calls `launch`, which starts a kernel that is named after `Work`.
template <class Work, class Launch>
void checked_launch(StreamHandle stream, const Launch& launch) {
  timed_launch(stream, typeid(Work).name(), [&] {
    launch();
    check_cuda(cudaGetLastError(), "kernel launch");
  });
}

template <class Work>
void for_each(StreamHandle stream, std::size_t count, const Work& work) {
  constexpr unsigned threads = 256;
  if (count == 0) return;
  checked_launch<Work>(stream, [&] {
    LOCKSTEP_LAUNCH(each_kernel, static_cast<unsigned>((count + threads - 1) / threads), threads, stream,
                    count, work);
  });
}

template <class Work>
void for_each_row(StreamHandle stream, std::size_t rows, const Work& work) {
  if (rows == 0) return;
  checked_launch<Work>(
      stream, [&] { LOCKSTEP_LAUNCH(row_kernel, static_cast<unsigned>(rows), row_threads, stream, work); });
}

template <class Work, class Then>
void for_each_row(StreamHandle stream, std::size_t rows, const Work& work, const Then& then) {
  if (rows == 0) return;
  checked_launch<Then>(stream, [&] {
    LOCKSTEP_LAUNCH(row_kernel, static_cast<unsigned>(rows), row_threads, stream, work, then);
  });
}

}  // namespace lockstep::cuda
