#include "ops/cpu/kernels/limits.h"

#include "ops/cpu/kernels/vectors.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {
namespace {

/// Number of independent sums, more than the latency of a multiply-add times the number that start per cycle.
constexpr int sum_count = many_registers ? 24 : 12;

double multiply_add(std::int64_t rounds, float* sums) {
  const Vector factor = hn::Load(floats, sums);
  Vector sum[sum_count];
  // Start values differ, because the compiler would compute equal sums only once.
  LOCKSTEP_UNROLL for (int i = 0; i < sum_count; ++i) { sum[i] = hn::Set(floats, static_cast<float>(i)); }
  for (std::int64_t round = 0; round < rounds; ++round) {
    LOCKSTEP_UNROLL for (int i = 0; i < sum_count; ++i) { sum[i] = hn::MulAdd(sum[i], factor, factor); }
  }
  LOCKSTEP_UNROLL for (int i = 1; i < sum_count; ++i) { sum[0] = hn::Add(sum[0], sum[i]); }
  hn::Store(sum[0], floats, sums);
  return 2.0 * sum_count * width * static_cast<double>(rounds);
}

void triad(std::size_t count, float* a, const float* b, const float* c) {
  const Vector half = hn::Set(floats, 0.5F);
  for (std::size_t i = 0; i < pixels(count); i += width) {
    hn::Store(hn::MulAdd(half, hn::Load(floats, c + i), hn::Load(floats, b + i)), floats, a + i);
  }
}

}  // namespace

const LimitKernels limit_kernels{.multiply_add = multiply_add, .triad = triad};

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
