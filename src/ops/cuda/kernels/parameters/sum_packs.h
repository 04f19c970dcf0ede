#pragma once

#include "device/cuda/native/launch.h"
#include "ops/cuda/kernels/pack.h"
#include "ops/cuda/kernels/parameters/column_sum.h"

namespace lockstep::cuda {

/// Sums of the channels of a pack.
struct PackSum {
  double values[channel_unit] = {};

  LOCKSTEP_HD PackSum& operator+=(const PackSum& other) {
    for (int c = 0; c < channel_unit; ++c) values[c] += other.values[c];
    return *this;
  }
};

/// First step of a ColumnSum over the packs that source(index of a pack) returns. Calls `source` once per
/// pack, so that `source` may also store the pack. One row for each pack of channels in each chunk of pixels.
template <class Source>
struct SumPacks {
  using Sum = PackSum;
  Source source;
  std::size_t pixels, chunk, packs;
  float* chunks;

  LOCKSTEP_HD std::size_t terms(std::size_t row) const {
    const std::size_t rest = pixels - row / packs * chunk;
    return rest < chunk ? rest : chunk;
  }
  LOCKSTEP_HD PackSum term(std::size_t row, std::size_t k) const {
    const auto pack = source((row / packs * chunk + k) * packs + row % packs);
    PackSum sum;
    for (int c = 0; c < channel_unit; ++c) sum.values[c] = static_cast<double>(to_float(pack.values[c]));
    return sum;
  }
  LOCKSTEP_HD void finish(std::size_t row, const PackSum& sum) const {
    for (int c = 0; c < channel_unit; ++c) {
      chunks[row * channel_unit + static_cast<std::size_t>(c)] = static_cast<float>(sum.values[c]);
    }
  }
};

/// Computes the chunk sums of the packs that `source` returns.
template <class Source>
void sum_packs(StreamHandle stream, const ColumnSum& problem, const Source& source, float* chunks) {
  const auto packs = static_cast<std::size_t>(problem.channels / channel_unit);
  for_each_row(stream, chunks_of(problem) * packs,
               SumPacks<Source>{source, problem.pixels, pixels_of_chunk(problem), packs, chunks});
}

/// Calls `source` for every pack, and computes the chunk sums unless `chunks` is null.
template <class Source>
void run_and_sum(StreamHandle stream, const ColumnSum& problem, const Source& source, float* chunks) {
  if (chunks != nullptr) return sum_packs(stream, problem, source, chunks);
  for_each(stream, problem.pixels * static_cast<std::size_t>(problem.channels / channel_unit), source);
}

}  // namespace lockstep::cuda
