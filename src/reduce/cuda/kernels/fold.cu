#include "reduce/cuda/fold.h"

#include <bit>

#include "device/cuda/floats.h"

namespace lockstep::cuda {
namespace {

/// Runs the program on `width` neighbouring elements. The topmost sum stays in registers; those below it are
/// in memory of the thread.
template <std::size_t width>
struct FoldElements {
  DeviceFold fold;
  const float* const* inputs;
  std::size_t begin;
  float* output;

  LOCKSTEP_HD void operator()(std::size_t i) const {
    const std::size_t at = i * width;
    Floats<width> below[most_sums];
    std::uint32_t height = 0;
    Floats<width> top = load_floats<width>(inputs[fold.program[0]] + begin + at);
    for (std::uint32_t k = 1; k < fold.length; ++k) {
      const std::int32_t entry = fold.program[k];
      if (entry == Fold::add) {
        const Floats<width> left = below[--height];
        for (std::size_t e = 0; e < width; ++e) top[e] = left[e] + top[e];
      } else {
        below[height++] = top;
        top = load_floats<width>(inputs[entry] + begin + at);
      }
    }
    store_floats(output + at, top);
  }
};

template <std::size_t width>
struct AddElements {
  float* into;
  const float* from;

  LOCKSTEP_HD void operator()(std::size_t i) const {
    Floats<width> sum = load_floats<width>(into + i * width);
    const Floats<width> other = load_floats<width>(from + i * width);
    for (std::size_t e = 0; e < width; ++e) sum[e] = sum[e] + other[e];
    store_floats(into + i * width, sum);
  }
};

struct FillElements {
  float* to;
  float value;
  LOCKSTEP_HD void operator()(std::size_t i) const { to[i] = value; }
};

bool aligned(const float* address) {
  return std::bit_cast<std::uintptr_t>(address) % (four_floats * sizeof(float)) == 0;
}

}  // namespace

void fold(StreamHandle stream, const DeviceFold& fold, const float* const* inputs, std::size_t begin,
          std::size_t count, float* output) {
  if (fold.length == 0) return fill(stream, output, 0.0F, count);
  if (begin % four_floats == 0 && count % four_floats == 0 && aligned(output)) {
    for_each(stream, count / four_floats, FoldElements<four_floats>{fold, inputs, begin, output});
  } else {
    for_each(stream, count, FoldElements<1>{fold, inputs, begin, output});
  }
}

void add(StreamHandle stream, float* into, const float* from, std::size_t count) {
  if (count % four_floats == 0 && aligned(into) && aligned(from)) {
    for_each(stream, count / four_floats, AddElements<four_floats>{into, from});
  } else {
    for_each(stream, count, AddElements<1>{into, from});
  }
}

void fill(StreamHandle stream, float* to, float value, std::size_t count) {
  for_each(stream, count, FillElements{to, value});
}

}  // namespace lockstep::cuda
