#include "ops/cuda/kernels/parameters/conv_weights.h"

#include "device/cuda/native/launch.h"
#include "ops/cuda/kernels/pack.h"
#include "ops/cuda/kernels/parameters/find_part.h"

namespace lockstep::cuda {
namespace {

/// Maximum number of layers per kernel, which keeps the kernel's arguments below 4 KB.
constexpr Index max_layers = 48;

/// Number of taps that are read before the first one is written: all taps of a 3 x 3 kernel.
constexpr Index tap_group = 9;

/// Number of (out channel, in channel of its group) pairs in the padded weights.
LOCKSTEP_HD Index pairs_of(const WeightForms& forms) {
  return forms.padded_out_channels * forms.padded_inputs;
}

Index indices_of(const WeightPadding::Layer& layer) {
  return pairs_of(layer.forms) + (layer.bias != nullptr ? layer.forms.padded_out_channels : 0);
}

/// Pads layer by layer: one thread per pair of channels copies all taps of the pair, then one thread per
/// element copies the padded bias. Taps are contiguous in the source; pairs are contiguous in the result.
template <class T>
struct PadWeights {
  using Layer = WeightPadding::Layer;
  Index count;
  std::size_t ends[max_layers];
  Layer layers[max_layers];

  LOCKSTEP_HD void operator()(std::size_t index) const {
    const Index number = find_part(ends, count, index);
    const Layer& layer = layers[number];
    const WeightForms& forms = layer.forms;
    const Index pairs = pairs_of(forms);
    const auto i = static_cast<Index>(index - (number > 0 ? ends[number - 1] : 0));
    if (i < pairs) {
      pad_taps(layer, i / forms.padded_inputs, i % forms.padded_inputs);
    } else {
      const Index channel = i - pairs;
      static_cast<T*>(layer.padded_bias)[channel] =
          from_float<T>(channel < forms.out_channels ? layer.bias[channel] : 0.0F);
    }
  }

  LOCKSTEP_HD static void pad_taps(const Layer& layer, Index k, Index input) {
    const WeightForms& forms = layer.forms;
    const Index taps = forms.taps;
    const float* from = taps_of(layer, k, input);
    T* to = static_cast<T*>(layer.padded) + std::size_t{k} * taps * forms.padded_inputs + input;
    for (Index first = 0; first < taps; first += tap_group) {
      float values[tap_group];
      for (Index t = 0; t < tap_group; ++t) {
        values[t] = from != nullptr && first + t < taps ? from[first + t] : 0.0F;
      }
      for (Index t = 0; t < tap_group; ++t) {
        if (first + t < taps) to[std::size_t{first + t} * forms.padded_inputs] = from_float<T>(values[t]);
      }
    }
  }

  /// Weights of a pair of channels; null: the network has none.
  LOCKSTEP_HD static const float* taps_of(const Layer& layer, Index k, Index input) {
    const WeightForms& forms = layer.forms;
    if (k >= forms.out_channels) return nullptr;
    const Index c = k / forms.padded_group_outputs * forms.padded_inputs + input;
    const Index first = k / forms.group_outputs * forms.group_inputs;
    if (c < first || c >= first + forms.group_inputs) return nullptr;
    return layer.weight + std::size_t{k * forms.group_inputs + c - first} * forms.taps;
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

bool same_forms(const WeightForms& forms, Type type) {
  return type != Type::bf16 && forms.taps == 1 && forms.group_inputs == forms.padded_inputs &&
         forms.out_channels == forms.padded_out_channels && forms.group_outputs == forms.padded_group_outputs;
}

std::size_t padded_weights(const ConvProblem& problem) {
  return static_cast<std::size_t>(problem.out_channels) * problem.kernel * problem.kernel *
         (problem.in_channels / problem.groups);
}

void WeightPadding::add(const Layer& layer) {
  layers_.push_back(layer);
  if (layers_.size() == max_layers) run();
}

void WeightPadding::run() {
  if (layers_.empty()) return;
  with_stored(type_, [&]<class T>(T /*stored*/) {
    PadWeights<T> work{};
    std::size_t end = 0;
    for (const Layer& layer : layers_) {
      end += indices_of(layer);
      work.ends[work.count] = end;
      work.layers[work.count++] = layer;
    }
    for_each(stream_, end, work);
  });
  layers_.clear();
}

}  // namespace lockstep::cuda
