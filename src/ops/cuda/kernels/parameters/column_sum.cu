#include "ops/cuda/kernels/parameters/column_sum.h"

#include <algorithm>

#include "ops/cuda/kernels/parameters/sum_packs.h"

namespace lockstep::cuda {
namespace {

constexpr std::size_t min_chunk = 512;
constexpr std::size_t max_chunks = 1024;

template <class T>
struct ReadPack {
  const Pack<T>* values;
  LOCKSTEP_HD Pack<T> operator()(std::size_t i) const { return values[i]; }
};

}  // namespace

std::size_t pixels_of_chunk(const ColumnSum& problem) {
  return std::max(min_chunk, (problem.pixels + max_chunks - 1) / max_chunks);
}

std::size_t chunks_of(const ColumnSum& problem) {
  return (problem.pixels + pixels_of_chunk(problem) - 1) / pixels_of_chunk(problem);
}

std::size_t chunk_bytes(const ColumnSum& problem) {
  return chunks_of(problem) * static_cast<std::size_t>(problem.channels) * sizeof(float);
}

void sum_chunks(StreamHandle stream, const ColumnSum& problem, const void* values, float* chunks) {
  with_stored(problem.type, [&]<class T>(T /*stored*/) {
    sum_packs(stream, problem, ReadPack<T>{packs_at<T>(values)}, chunks);
  });
}

}  // namespace lockstep::cuda
