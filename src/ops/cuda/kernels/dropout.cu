#include "ops/cuda/kernels/dropout.h"

#include "device/cuda/native/launch.h"
#include "ops/cuda/kernels/pack.h"

namespace lockstep::cuda {
namespace {

std::size_t packs_in(const DropoutTask& task) {
  const auto pixels = static_cast<std::size_t>(task.samples) * static_cast<std::size_t>(task.pixels);
  return packs_of(pixels, task.channels);
}

/// Value times `scale` if the mask's bit is set, else +0.
template <class T>
LOCKSTEP_HD Pack<T> select(Pack<T> pack, unsigned mask, float scale) {
  Pack<float> values = to_floats(pack);
  for (int k = 0; k < channel_unit; ++k) {
    const float scaled = values.values[k] * scale;
    values.values[k] = (mask >> k & 1U) != 0 ? scaled : 0.0F;
  }
  return from_floats<T>(values);
}

template <class T>
struct Forward {
  DropoutRule rule;
  unsigned channels;
  unsigned pixels;
  const RandomKey* random;
  const std::uint64_t* ids;
  const Pack<T>* input;
  Pack<T>* output;
  std::uint8_t* masks;

  LOCKSTEP_HD void operator()(std::size_t index) const {
    const unsigned packs = (channels + channel_unit - 1) / channel_unit;
    const PackPlace at = place_of(index, packs, pixels, 1);
    const unsigned mask = draw(ids[at.sample], at.pack * channel_unit, at.column);
    masks[index] = static_cast<std::uint8_t>(mask);
    output[index] = select(input[index], mask, rule.scale);
  }

  /// Draws the mask of the channels that start at `first`; bit k: whether channel first + k is kept. Four
  /// adjacent elements share a block of random numbers.
  LOCKSTEP_HD unsigned draw(std::uint64_t id, unsigned first, unsigned pixel) const {
    const RandomKey key = *random;
    std::array<std::uint32_t, 4> numbers{};
    unsigned drawn = ~0U;
    unsigned mask = 0;
    for (unsigned k = 0; k < channel_unit && first + k < channels; ++k) {
      const unsigned element = (first + k) * pixels + pixel;
      if (element / 4 != drawn) {
        drawn = element / 4;
        numbers = rule.numbers(key, id, drawn);
      }
      mask |= rule.keeps(numbers[element % 4]) ? 1U << k : 0U;
    }
    return mask;
  }
};

template <class T>
struct Backward {
  float scale;
  const std::uint8_t* masks;
  const Pack<T>* grad_output;
  Pack<T>* grad_input;

  LOCKSTEP_HD void operator()(std::size_t index) const {
    grad_input[index] = select(grad_output[index], masks[index], scale);
  }
};

}  // namespace

std::size_t dropout_mask_bytes(const DropoutTask& task) { return packs_in(task); }

void dropout_forward(StreamHandle stream, const DropoutTask& task, const RandomKey* random,
                     const std::uint64_t* ids, const void* input, void* output, std::uint8_t* masks) {
  with_stored(task.type, [&]<class T>(T /*stored*/) {
    for_each(stream, packs_in(task),
             Forward<T>{task.rule, static_cast<unsigned>(task.channels), static_cast<unsigned>(task.pixels),
                        random, ids, packs_at<T>(input), packs_at<T>(output), masks});
  });
}

void dropout_backward(StreamHandle stream, const DropoutTask& task, const std::uint8_t* masks,
                      const void* grad_output, void* grad_input) {
  with_stored(task.type, [&]<class T>(T /*stored*/) {
    for_each(stream, packs_in(task),
             Backward<T>{task.rule.scale, masks, packs_at<T>(grad_output), packs_at<T>(grad_input)});
  });
}

}  // namespace lockstep::cuda
