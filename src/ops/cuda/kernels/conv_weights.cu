#include "ops/cuda/kernels/conv_weights.h"

#include "ops/cuda/kernels/pack.h"

namespace lockstep::cuda {
namespace {

using Index = unsigned;  // 64-bit divisions are slow on a GPU

/// Channels, groups and sizes of both forms.
struct Forms {
  Index out_channels, group_inputs, group_outputs;                 ///< of the network
  Index padded_out_channels, padded_inputs, padded_group_outputs;  ///< of the problem; inputs of a group
  Index taps;
};

Forms forms_of(const ConvProblem& problem, const WeightShape& shape) {
  return {.out_channels = static_cast<Index>(shape.out_channels),
          .group_inputs = static_cast<Index>(shape.in_channels / shape.groups),
          .group_outputs = static_cast<Index>(shape.out_channels / shape.groups),
          .padded_out_channels = static_cast<Index>(problem.out_channels),
          .padded_inputs = static_cast<Index>(problem.in_channels / problem.groups),
          .padded_group_outputs = static_cast<Index>(problem.out_channels / problem.groups),
          .taps = static_cast<Index>(problem.kernel * problem.kernel)};
}

/// One thread for each element of the padded weights, then of the padded bias.
template <class T>
struct PadWeights {
  Forms forms;
  Index weights;
  const float* weight;
  const float* bias;
  T* padded;
  T* padded_bias;

  LOCKSTEP_HD void operator()(std::size_t index) const {
    const auto i = static_cast<Index>(index);
    if (i < weights) {
      padded[i] = from_float<T>(value(i));
    } else {
      const Index channel = i - weights;
      padded_bias[channel] = from_float<T>(channel < forms.out_channels ? bias[channel] : 0.0F);
    }
  }

  LOCKSTEP_HD float value(Index i) const {
    const Index tap = i / forms.padded_inputs % forms.taps;
    const Index k = i / forms.padded_inputs / forms.taps;
    if (k >= forms.out_channels) return 0.0F;
    const Index c = k / forms.padded_group_outputs * forms.padded_inputs + i % forms.padded_inputs;
    const Index first = k / forms.group_outputs * forms.group_inputs;
    if (c < first || c >= first + forms.group_inputs) return 0.0F;
    return weight[(k * forms.group_inputs + c - first) * forms.taps + tap];
  }
};

/// One thread for each element of the network's weights.
template <class T>
struct UnpadWeights {
  Forms forms;
  const T* padded;
  float* weight;

  LOCKSTEP_HD void operator()(std::size_t index) const {
    const auto i = static_cast<Index>(index);
    const Index tap = i % forms.taps;
    const Index k = i / forms.taps / forms.group_inputs;
    const Index c = k / forms.group_outputs * forms.group_inputs + i / forms.taps % forms.group_inputs;
    const Index first = k / forms.padded_group_outputs * forms.padded_inputs;
    weight[i] = to_float(padded[(k * forms.taps + tap) * forms.padded_inputs + c - first]);
  }
};

}  // namespace

std::size_t padded_weights(const ConvProblem& problem) {
  return static_cast<std::size_t>(problem.out_channels) * problem.kernel * problem.kernel *
         (problem.in_channels / problem.groups);
}

void pad_weights(StreamHandle stream, const ConvProblem& problem, const WeightShape& shape,
                 const float* weight, const float* bias, void* padded, void* padded_bias) {
  const std::size_t weights = padded_weights(problem);
  const std::size_t biases = bias != nullptr ? static_cast<std::size_t>(problem.out_channels) : 0;
  with_stored(problem.type, [&](auto stored) {
    using T = decltype(stored);
    for_each(stream, weights + biases,
             PadWeights<T>{forms_of(problem, shape), static_cast<Index>(weights), weight, bias,
                           static_cast<T*>(padded), static_cast<T*>(padded_bias)});
  });
}

void unpad_weights(StreamHandle stream, const ConvProblem& problem, const WeightShape& shape,
                   const void* padded, float* weight) {
  const Forms forms = forms_of(problem, shape);
  const std::size_t count = std::size_t{forms.out_channels} * forms.group_inputs * forms.taps;
  with_stored(problem.type, [&](auto stored) {
    using T = decltype(stored);
    for_each(stream, count, UnpadWeights<T>{forms, static_cast<const T*>(padded), weight});
  });
}

}  // namespace lockstep::cuda
