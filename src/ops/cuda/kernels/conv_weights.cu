#include "ops/cuda/kernels/conv_weights.h"

#include "ops/cuda/kernels/find_part.h"
#include "ops/cuda/kernels/pack.h"

namespace lockstep::cuda {
namespace {

using Index = unsigned;

/// Layers of one kernel: its arguments may be 4 KB.
constexpr Index most_layers = 48;

LOCKSTEP_HD Index weights_of(const WeightForms& forms) {
  return forms.padded_out_channels * forms.taps * forms.padded_inputs;
}

Index elements_of(const WeightPadding::Layer& layer) {
  return weights_of(layer.forms) + (layer.bias != nullptr ? layer.forms.padded_out_channels : 0);
}

/// One thread for each element of the padded weights, then of the padded bias, layer by layer.
template <class T>
struct PadWeights {
  using Layer = WeightPadding::Layer;
  Index count;
  std::size_t ends[most_layers];
  Layer layers[most_layers];

  LOCKSTEP_HD void operator()(std::size_t index) const {
    const Index number = find_part(ends, count, index);
    const Layer& layer = layers[number];
    const WeightForms& forms = layer.forms;
    const Index weights = weights_of(forms);
    const auto i = static_cast<Index>(index - (number > 0 ? ends[number - 1] : 0));
    if (i < weights) {
      static_cast<T*>(layer.padded)[i] = from_float<T>(value(layer, i));
    } else {
      const Index channel = i - weights;
      static_cast<T*>(layer.padded_bias)[channel] =
          from_float<T>(channel < forms.out_channels ? layer.bias[channel] : 0.0F);
    }
  }

  LOCKSTEP_HD float value(const Layer& layer, Index i) const {
    const WeightForms& forms = layer.forms;
    const Index tap = i / forms.padded_inputs % forms.taps;
    const Index k = i / forms.padded_inputs / forms.taps;
    if (k >= forms.out_channels) return 0.0F;
    const Index c = k / forms.padded_group_outputs * forms.padded_inputs + i % forms.padded_inputs;
    const Index first = k / forms.group_outputs * forms.group_inputs;
    if (c < first || c >= first + forms.group_inputs) return 0.0F;
    return layer.weight[(k * forms.group_inputs + c - first) * forms.taps + tap];
  }
};

}  // namespace

WeightForms weight_forms(const ConvProblem& problem, const WeightShape& shape) {
  return {.out_channels = static_cast<Index>(shape.out_channels),
          .group_inputs = static_cast<Index>(shape.in_channels / shape.groups),
          .group_outputs = static_cast<Index>(shape.out_channels / shape.groups),
          .padded_out_channels = static_cast<Index>(problem.out_channels),
          .padded_inputs = static_cast<Index>(problem.in_channels / problem.groups / shape.pixels),
          .padded_group_outputs = static_cast<Index>(problem.out_channels / problem.groups),
          .taps = static_cast<Index>(problem.kernel * problem.kernel * shape.pixels)};
}

bool same_forms(const ConvProblem& problem, const WeightShape& shape) {
  const WeightForms forms = weight_forms(problem, shape);
  return problem.type != Type::bf16 && forms.taps == 1 && forms.group_inputs == forms.padded_inputs &&
         forms.out_channels == forms.padded_out_channels && forms.group_outputs == forms.padded_group_outputs;
}

std::size_t padded_weights(const ConvProblem& problem) {
  return static_cast<std::size_t>(problem.out_channels) * problem.kernel * problem.kernel *
         (problem.in_channels / problem.groups);
}

void WeightPadding::add(const Layer& layer) {
  layers_.push_back(layer);
  if (layers_.size() == most_layers) run();
}

void WeightPadding::run() {
  if (layers_.empty()) return;
  with_stored(type_, [&](auto stored) {
    PadWeights<decltype(stored)> work{};
    std::size_t end = 0;
    for (const Layer& layer : layers_) {
      end += elements_of(layer);
      work.ends[work.count] = end;
      work.layers[work.count++] = layer;
    }
    for_each(stream_, end, work);
  });
  layers_.clear();
}

}  // namespace lockstep::cuda
