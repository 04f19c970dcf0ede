#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <typeinfo>

#include "core/host_device.h"
#include "device/cuda/native/block.h"
#include "device/cuda/native/check.h"
#include "device/cuda/stream_handle.h"
#include "device/kernel_times.h"

/// Launches kernels that are written as functions of an index. For .cu sources only. The host compiler also
/// compiles these sources for the CUDA runtime of tests/fake_cuda, which computes the same bits.
namespace lockstep::cuda {

/// Number of lanes that `work` divides a row into: a power of two.
template <class Work>
__device__ unsigned lanes_of(const Work& work) {
  if constexpr (requires { work.lanes(); }) {
    return work.lanes();
  } else {
    return 1;
  }
}

/// Argument that for_each_row passes to `work` for a lane of `row`. `results`: results of the preceding work,
/// if there is one.
template <class Work, class... Results>
__device__ auto place_in(const Work& work, std::size_t row, unsigned lane, const Results*... results) {
  if constexpr (requires { work.place(row, lane, results...); }) {
    return work.place(row, lane, results...);
  } else if constexpr (requires { work.place(row); }) {
    return work.place(row);
  } else {
    return row;
  }
}

/// Calls use(k, loaded) for the terms k of thread t in its lane, in ascending order. Loads Work::ahead terms
/// before it uses the first of them.
template <class Work, class Place, class Use>
__device__ void for_each_loaded(const Work& work, const Place& place, unsigned t, unsigned lanes,
                                const Use& use) {
  const unsigned apart = row_threads / lanes;
  const std::size_t terms = work.terms(place);
  for (std::size_t k = t / lanes; k < terms; k += Work::ahead * apart) {
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

/// Sum of the terms of thread t.
template <class Work, class Place>
__device__ typename Work::Sum sum_of_thread(const Work& work, const Place& place, unsigned t,
                                            unsigned lanes) {
  typename Work::Sum sum{};
  if constexpr (requires { work.load(place, std::size_t{}); }) {
    for_each_loaded(work, place, t, lanes,
                    [&](std::size_t k, const auto& loaded) { sum += work.term(place, k, loaded); });
  } else {
    const std::size_t terms = work.terms(place);
    for (std::size_t k = t / lanes; k < terms; k += row_threads / lanes) sum += work.term(place, k);
  }
  return sum;
}

/// Slots of shared memory per word of a sum: 128 for the sums of threads 128 to 255, then 64, then 32.
constexpr unsigned block_sum_slots = row_threads - warp_threads;

/// Adds up the sums of all threads, in the order of for_each_row, into the sums of the threads below `lanes`.
/// Threads of a warp access adjacent words of shared memory, so their accesses do not conflict.
template <class Sum>
__device__ void add_over_block(PerThread<Sum>& sums, unsigned lanes) {
  using Words = SumWords<Sum>;
  __shared__ std::uint32_t memory[Words::count * block_sum_slots];
  unsigned first = 0;  // first slot
  for (unsigned apart = row_threads / 2; apart >= warp_threads; first += apart, apart /= 2) {
    for_each_thread([&](unsigned t) {
      if (t < apart || t >= 2 * apart) return;
      const auto given = std::bit_cast<Words>(sums[t]);
      for (unsigned w = 0; w < Words::count; ++w) {
        memory[w * block_sum_slots + first + t - apart] = given.words[w];
      }
    });
    __syncthreads();
    for_each_thread([&](unsigned t) {
      if (t >= apart) return;
      Words other;
      for (unsigned w = 0; w < Words::count; ++w) other.words[w] = memory[w * block_sum_slots + first + t];
      sums[t] += std::bit_cast<Sum>(other);
    });
  }
  for (unsigned apart = warp_threads / 2; apart >= lanes; apart /= 2) add_over_warp(sums, apart);
}

/// Adds up a row and calls finish(place, lane, sum) for each lane.
template <class Work, class Finish>
__device__ void sum_row(const Work& work, const Finish& finish) {
  const unsigned lanes = lanes_of(work);
  const PerThread places([&](unsigned t) { return place_in(work, std::size_t{blockIdx.x}, t % lanes); });
  PerThread sums([&](unsigned t) { return sum_of_thread(work, places[t], t, lanes); });
  add_over_block(sums, lanes);
  for_each_thread([&](unsigned t) {
    if (t < lanes) finish(places[t], t, sums[t]);
  });
}

/// Minimum number of blocks that a multiprocessor runs at once. Limits each thread to 128 of its 65,536
/// registers.
constexpr unsigned min_blocks = 2;

template <class Work>
__global__ void __launch_bounds__(row_threads, min_blocks) each_kernel(std::size_t count, const Work work) {
  for_each_thread([&](unsigned t) {
    const std::size_t i = std::size_t{blockIdx.x} * row_threads + t;
    if (i < count) work(i);
  });
}

template <class Work>
__global__ void __launch_bounds__(row_threads, min_blocks) row_kernel(const Work work) {
  sum_row(work, [&](const auto& place, unsigned /*lane*/, const typename Work::Sum& sum) {
    work.finish(place, sum);
  });
}

template <class Work, class Then>
__global__ void __launch_bounds__(row_threads, min_blocks) row_kernel(const Work work, const Then then) {
  using Result = typename Work::Result;
  alignas(alignof(Result)) __shared__ unsigned char memory[max_row_lanes * sizeof(Result)];
  Result* const results = reinterpret_cast<Result*>(memory);
  sum_row(work, [&](const auto& place, unsigned lane, const typename Work::Sum& sum) {
    results[lane] = work.finish(place, sum);
  });
  __syncthreads();
  const unsigned lanes = lanes_of(then);
  for_each_thread([&](unsigned t) {
    const auto place =
        place_in(then, std::size_t{blockIdx.x}, t % lanes, static_cast<const Result*>(results));
    for_each_loaded(then, place, t, lanes,
                    [&](std::size_t k, const auto& loaded) { then.store(place, k, loaded); });
  });
}

/// Adds a kernel to the stream. KernelTimes reports its time under the name of `Work`.
template <class Work, class... Arguments>
void launch(StreamHandle stream, std::size_t blocks, void (*kernel)(Arguments...),
            const Arguments&... arguments) {
  if (blocks == 0) return;
  timed_launch(stream, typeid(Work).name(), [&] {
    cudaLaunchConfig_t config{};
    config.gridDim = static_cast<unsigned>(blocks);
    config.blockDim = row_threads;
    config.stream = stream;
    check_cuda(cudaLaunchKernelEx(&config, kernel, arguments...), "cudaLaunchKernelEx");
  });
}

/// Calls work(i) for every i in [0, count), in any order, after earlier work of the stream.
template <class Work>
void for_each(StreamHandle stream, std::size_t count, const Work& work) {
  launch<Work>(stream, (count + row_threads - 1) / row_threads, each_kernel<Work>, count, work);
}

/// For each row, adds work.term(row, k) for k in [0, work.terms(row)), then calls work.finish(row, sum). Sums
/// start as Work::Sum{} and add terms and other sums by `+=`, in a fixed order: sum t of 256 adds the terms
/// t, t + 256, ...; then sum t adds sum t + 128, t + 64, ..., t + 1. The work may also have these members:
///
///   place(row)         returns the value that replaces `row` in these calls
///   lanes()            number of lanes of a row, each with a separate sum: a power of two up to
///                      max_row_lanes. Sum t belongs to lane t % lanes and adds the lane's terms t / lanes,
///                      t / lanes + 256 / lanes, ...; then sum t adds sum t + 128, t + 64, ..., t + lanes.
///                      With lanes, adjacent threads can read adjacent memory
///   place(row, lane)   replaces place(row) if there are lanes
///   load(place, k)     reads memory for term(place, k, loaded), which then replaces term(place, k). Makes
///                      Work::ahead loads before it adds the same number of terms, because a GPU reaches
///                      its bandwidth only with many reads in flight
template <class Work>
void for_each_row(StreamHandle stream, std::size_t rows, const Work& work) {
  launch<Work>(stream, rows, row_kernel<Work>, work);
}

/// Same as for_each_row(rows, work). Then, for each row and each lane of `then`, calls
/// then.store(place, k, then.load(place, k)) for k in [0, then.terms(place)), in any order, with Then::ahead
/// loads before the same number of stores. `place` is then.place(row, lane, results); results[l] is the
/// Work::Result that work.finish returned for lane l of the row. `then` and `work` may have different numbers
/// of lanes.
template <class Work, class Then>
void for_each_row(StreamHandle stream, std::size_t rows, const Work& work, const Then& then) {
  launch<Then>(stream, rows, row_kernel<Work, Then>, work, then);
}

}  // namespace lockstep::cuda
