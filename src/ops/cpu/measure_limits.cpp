#include "ops/cpu/measure_limits.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <optional>
#include <span>

#include "device/cpu/caches.h"
#include "ops/cpu/convolution/kernels/bf16_product.h"
#include "ops/cpu/kernels/limits.h"
#include "ops/cpu/op.h"

namespace lockstep::cpu {
namespace {

/// Maximum total size of the arrays. A cache is measured with arrays of half its size, main memory with
/// arrays of four times the largest cache, but at most this size: a cache shared by many cores may be very
/// large.
constexpr std::size_t largest_arrays = std::size_t{384} << 20;

/// Shortest time of several runs: other load on the machine can only make runs longer.
double shortest(int runs, const std::function<void()>& run) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < runs; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

/// Speed of multiply(rounds), which must return the number of floating-point operations.
template <class Multiply>
double flop_per_s(std::int64_t rounds, const Multiply& multiply) {
  double flop = 0.0;
  const double seconds = shortest(20, [&] { flop = multiply(rounds); });
  return flop / seconds;
}

std::optional<double> bf16_flop_per_s(Level level) {
  const auto multiply = bf16_product_kernels(level).multiply_in_registers;
  if (multiply == nullptr) return std::nullopt;
  return flop_per_s(50'000, multiply);  // about 2 ms
}

/// Bytes/s of a triad whose three arrays have `bytes` in total. Small arrays are processed repeatedly.
double bytes_per_s(const LimitKernels& kernels, std::size_t bytes, std::span<float> memory) {
  const std::size_t pixels = std::max<std::size_t>(1, bytes / (3 * lanes * sizeof(float)));
  const std::size_t repeats = std::max<std::size_t>(1, (std::size_t{16} << 20) / bytes);
  float* const a = memory.data();
  const double seconds = shortest(10, [&] {
    for (std::size_t i = 0; i < repeats; ++i) {
      kernels.triad(pixels, a, a + pixels * lanes, a + 2 * pixels * lanes);
    }
  });
  return static_cast<double>(3 * lanes * sizeof(float) * pixels * repeats) / seconds;
}

ThreadLimits measure(Level level, std::span<const Cache> caches, std::span<float> memory) {
  const LimitKernels& kernels = limit_kernels(level);
  alignas(64) float sums[lanes] = {};
  const auto multiply_add = [&](std::int64_t rounds) { return kernels.multiply_add(rounds, sums); };
  ThreadLimits limits{.flop_per_s = flop_per_s(200'000, multiply_add),  // about 2 ms
                      .bf16_flop_per_s = bf16_flop_per_s(level)};
  for (const Cache& cache : caches) {
    if (cache.bytes >= memory.size_bytes()) break;
    limits.memory.push_back({cache.name, cache.bytes, bytes_per_s(kernels, cache.bytes / 2, memory)});
  }
  limits.memory.push_back({"memory", 0, bytes_per_s(kernels, memory.size_bytes(), memory)});
  return limits;
}

}  // namespace

ThreadLimits measure_limits(Level level, Device& device) {
  const std::vector<Cache> caches = data_caches();
  const std::size_t wanted = caches.empty() ? largest_arrays : 4 * caches.back().bytes;
  const Buffer memory = device.allocate(std::min(wanted, largest_arrays));
  std::ranges::fill(memory.floats(), 1.0F);
  Stream& stream = *device.streams()[0];
  ThreadLimits limits;
  device
      .record([&] { stream.call([&] { limits = measure(level, caches, memory.floats()); }, Phase::forward); })
      ->run();
  return limits;
}

}  // namespace lockstep::cpu
