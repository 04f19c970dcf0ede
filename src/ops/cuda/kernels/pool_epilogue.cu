#include "ops/cuda/kernels/pool_epilogue.h"

#include <bit>

#include "device/cuda/native/launch.h"
#include "ops/cuda/kernels/parameters/sum_packs.h"

namespace lockstep::cuda {
namespace {

/// Sizes after pooling, with channels in packs.
struct PoolSizes {
  Index packs, height, width, window;
  Index pooled() const { return packs * height * width; }
};

PoolSizes sizes_of(const PoolEpilogue& pool) {
  return {.packs = static_cast<Index>(pool.channels / channel_unit),
          .height = static_cast<Index>(pool.height),
          .width = static_cast<Index>(pool.width),
          .window = static_cast<Index>(pool.window)};
}

/// Computes an average from a sum. If the divisor is a power of two, a multiplication is exact; otherwise a
/// division is needed.
struct Product {
  float factor;
  LOCKSTEP_HD float operator()(float sum) const { return sum * factor; }
};
struct Quotient {
  float divisor;
  LOCKSTEP_HD float operator()(float sum) const { return sum / divisor; }
};

/// Calls run with a value of the stored type and with Product if that yields the same bits as Quotient, else
/// Quotient.
template <class Run>
void with_average(const PoolEpilogue& pool, const Run& run) {
  const auto window = static_cast<unsigned>(pool.window);
  const auto pixels = static_cast<float>(window * window);
  with_stored(pool.type, [&](auto stored) {
    if (std::has_single_bit(window)) {
      run(stored, Product{1.0F / pixels});
    } else {
      run(stored, Quotient{pixels});
    }
  });
}

/// Computes one pack of the output per thread.
template <class T, class Average>
struct AveragePool {
  PoolSizes sizes;
  Average average;
  const Pack<T>* input;
  Pack<T>* output;

  LOCKSTEP_HD void operator()(std::size_t index) const {
    const auto i = static_cast<Index>(index);
    const Index pixel = i / sizes.packs;
    const Index column = pixel % sizes.width * sizes.window;
    const Index row = pixel / sizes.width * sizes.window;  // numbered through all samples
    const Index stride = sizes.width * sizes.window;
    float sums[channel_unit] = {};
    for (Index k = 0; k < sizes.window * sizes.window; ++k) {
      const Index from = (row + k / sizes.window) * stride + column + k % sizes.window;
      const Pack<T> pack = input[std::size_t{from} * sizes.packs + i % sizes.packs];
      for (int c = 0; c < channel_unit; ++c) sums[c] += to_float(pack.values[c]);
    }
    Pack<T> result;
    for (int c = 0; c < channel_unit; ++c) result.values[c] = from_float<T>(average(sums[c]));
    output[index] = result;
  }
};

/// Computes one pack of the input's gradient per thread.
template <class T, class Average>
struct UndoAveragePool {
  PoolSizes sizes;
  Average average;
  const Pack<T>* activated;
  const Pack<T>* grad_output;
  Pack<T>* grad_input;

  LOCKSTEP_HD Pack<T> operator()(std::size_t index) const {
    const auto i = static_cast<Index>(index);
    const Index stride = sizes.width * sizes.window;
    const Index pixel = i / sizes.packs;
    const Index to = pixel / stride / sizes.window * sizes.width + pixel % stride / sizes.window;
    Pack<T> grad = grad_output[std::size_t{to} * sizes.packs + i % sizes.packs];
    for (int c = 0; c < channel_unit; ++c) {
      grad.values[c] = from_float<T>(average(to_float(grad.values[c])));
    }
    if (activated != nullptr) {
      const Pack<T> output = activated[index];
      for (int c = 0; c < channel_unit; ++c) {
        if (to_float(output.values[c]) <= 0) grad.values[c] = from_float<T>(0.0F);
      }
    }
    grad_input[index] = grad;
    return grad;
  }
};

}  // namespace

void average_pool(StreamHandle stream, const PoolEpilogue& pool, const void* input, void* output) {
  const PoolSizes sizes = sizes_of(pool);
  with_average(pool, [&]<class T, class Average>(T /*stored*/, Average average) {
    for_each(stream, std::size_t{sizes.pooled()} * pool.samples,
             AveragePool<T, Average>{sizes, average, packs_at<T>(input), packs_at<T>(output)});
  });
}

void undo_average_pool(StreamHandle stream, const PoolEpilogue& pool, const void* activated,
                       const void* grad_output, void* grad_input, float* chunks) {
  const PoolSizes sizes = sizes_of(pool);
  const std::size_t window = sizes.window;
  const ColumnSum sum{.pixels = std::size_t{sizes.height} * sizes.width * window * window *
                                static_cast<std::size_t>(pool.samples),
                      .channels = pool.channels,
                      .type = pool.type};
  with_average(pool, [&]<class T, class Average>(T /*stored*/, Average average) {
    run_and_sum(stream, sum,
                UndoAveragePool<T, Average>{sizes, average, packs_at<T>(activated), packs_at<T>(grad_output),
                                            packs_at<T>(grad_input)},
                chunks);
  });
}

}  // namespace lockstep::cuda
