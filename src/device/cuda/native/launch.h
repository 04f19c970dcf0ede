#pragma once

#include <cuda_runtime.h>

#include "device/cuda/launch.h"
#include "device/cuda/native/check.h"

/// Functions of launch_on_host.h for the GPU.
namespace lockstep::cuda {

template <class Work>
__global__ void each_kernel(std::size_t count, const Work work) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) work(i);
}

template <class Work>
__global__ void row_kernel(const Work work) {
  using Sum = typename Work::Sum;
  __shared__ alignas(alignof(Sum)) unsigned char memory[row_threads * sizeof(Sum)];
  Sum* sums = reinterpret_cast<Sum*>(memory);
  const auto place = place_in(work, std::size_t{blockIdx.x});
  const std::size_t terms = work.terms(place);
  Sum sum{};
  for (std::size_t k = threadIdx.x; k < terms; k += row_threads) sum += work.term(place, k);
  sums[threadIdx.x] = sum;
  for (unsigned apart = row_threads / 2; apart > 0; apart /= 2) {
    __syncthreads();
    if (threadIdx.x < apart) sums[threadIdx.x] += sums[threadIdx.x + apart];
  }
  if (threadIdx.x == 0) work.finish(place, sums[0]);
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
