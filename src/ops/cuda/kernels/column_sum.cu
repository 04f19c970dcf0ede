#include "ops/cuda/kernels/column_sum.h"

#include <algorithm>

#include "ops/cuda/kernels/pack.h"

namespace lockstep::cuda {
namespace {

using Index = unsigned;

/// Up to so many pixels, one kernel is faster than two, though its threads read far apart.
constexpr std::size_t few_pixels = 1024;
constexpr std::size_t least_chunk = 64;
constexpr std::size_t most_chunks = 1024;

std::size_t chunk_of(const ColumnSum& problem) {
  return std::max(least_chunk, (problem.pixels + most_chunks - 1) / most_chunks);
}

std::size_t chunks_of(const ColumnSum& problem) {
  return (problem.pixels + chunk_of(problem) - 1) / chunk_of(problem);
}

/// One thread sums a channel of a chunk of pixels; its neighbours have the channels beside it.
template <class T>
struct SumChunks {
  std::size_t pixels, chunk;
  Index stride;
  const T* values;
  float* partial;  ///< [chunk][channel]

  LOCKSTEP_HD void operator()(std::size_t i) const {
    const Index channel = static_cast<Index>(i) % stride;
    const std::size_t first = static_cast<Index>(i) / stride * chunk;
    const std::size_t end = first + chunk < pixels ? first + chunk : pixels;
    float sum = 0.0F;
    for (std::size_t pixel = first; pixel < end; ++pixel) {
      sum += to_float(values[pixel * stride + channel]);
    }
    partial[i] = sum;
  }
};

template <class T>
struct SumRows {
  using Sum = double;
  std::size_t rows;
  Index stride;
  const T* values;
  float* sums;

  LOCKSTEP_HD std::size_t terms(std::size_t /*channel*/) const { return rows; }
  LOCKSTEP_HD double term(std::size_t channel, std::size_t row) const {
    return static_cast<double>(to_float(values[row * stride + channel]));
  }
  LOCKSTEP_HD void finish(std::size_t channel, double sum) const { sums[channel] = static_cast<float>(sum); }
};

}  // namespace

std::size_t scratch_bytes(const ColumnSum& problem) {
  return problem.pixels > few_pixels
             ? chunks_of(problem) * static_cast<std::size_t>(problem.stride) * sizeof(float)
             : 0;
}

void column_sum(StreamHandle stream, const ColumnSum& problem, const void* values, float* sums,
                std::byte* scratch) {
  const auto stride = static_cast<Index>(problem.stride);
  const auto channels = static_cast<std::size_t>(problem.channels);
  with_stored(problem.type, [&](auto stored) {
    using T = decltype(stored);
    const auto* elements = static_cast<const T*>(values);
    if (problem.pixels <= few_pixels) {
      for_each_row(stream, channels, SumRows<T>{problem.pixels, stride, elements, sums});
      return;
    }
    auto* partial = reinterpret_cast<float*>(scratch);
    const std::size_t chunks = chunks_of(problem);
    for_each(stream, chunks * stride,
             SumChunks<T>{problem.pixels, chunk_of(problem), stride, elements, partial});
    for_each_row(stream, channels, SumRows<float>{chunks, stride, partial, sums});
  });
}

}  // namespace lockstep::cuda
