#include "gradient/cuda/fold.h"

#include <algorithm>
#include <bit>
#include <string>

#include "device/cuda/floats.h"
#include "device/cuda/native/launch.h"
#include "lockstep/error.h"

namespace lockstep::cuda {
namespace {

/// Maximum number of sums on the stack of a fold, as leaves have 32-bit numbers.
constexpr std::uint32_t most_sums = 33;

/// Runs the program on `width` neighbouring elements. The topmost sum stays in registers; the sums below it
/// are in the thread's local memory.
template <std::size_t width, std::size_t room>
struct FoldElements {
  const float* inputs[room];
  std::int16_t program[2 * room];
  std::uint32_t length;
  float* output;

  LOCKSTEP_HD void operator()(std::size_t i) const {
    const std::size_t at = i * width;
    Floats<width> below[most_sums];
    std::uint32_t height = 0;
    Floats<width> top = load_floats<width>(inputs[program[0]] + at);
    for (std::uint32_t k = 1; k < length; ++k) {
      const std::int16_t entry = program[k];
      if (entry == Fold::add) {
        const Floats<width> left = below[--height];
        for (std::size_t e = 0; e < width; ++e) top[e] = left[e] + top[e];
      } else {
        below[height++] = top;
        top = load_floats<width>(inputs[entry] + at);
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

template <std::size_t width, std::size_t room>
void fold_with(StreamHandle stream, std::span<const std::int32_t> program,
               std::span<const float* const> inputs, std::size_t count, float* output) {
  FoldElements<width, room> work{};
  std::ranges::copy(inputs, work.inputs);
  std::ranges::transform(program, work.program,
                         [](std::int32_t entry) { return static_cast<std::int16_t>(entry); });
  work.length = static_cast<std::uint32_t>(program.size());
  work.output = output;
  for_each(stream, count / width, work);
}

template <std::size_t width>
void fold_by(StreamHandle stream, std::span<const std::int32_t> program, std::span<const float* const> inputs,
             std::size_t count, float* output) {
  constexpr std::size_t few = 16;
  if (inputs.size() <= few) return fold_with<width, few>(stream, program, inputs, count, output);
  if (inputs.size() <= most_inputs) {
    return fold_with<width, most_inputs>(stream, program, inputs, count, output);
  }
  throw Error(Category::usage,
              std::to_string(inputs.size()) +
                  " partial sums of the gradient are to be added, a GPU can add " +
                  std::to_string(most_inputs) + ": use fewer micro-batches or fewer ranks",
              "micro-batches");
}

}  // namespace

void fold(StreamHandle stream, std::span<const std::int32_t> program, std::span<const float* const> inputs,
          std::size_t count, float* output) {
  if (program.empty()) return fill(stream, output, 0.0F, count);
  const bool fours = count % four_floats == 0 && aligned(output) && std::ranges::all_of(inputs, aligned);
  (fours ? fold_by<four_floats> : fold_by<1>)(stream, program, inputs, count, output);
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
