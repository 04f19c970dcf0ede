#include <cmath>

#include "device/cuda/native/launch.h"
#include "ops/cuda/kernels/pack.h"
#include "ops/cuda/kernels/parameters/sum_packs.h"
#include "ops/cuda/kernels/sum_pair.h"
#include "ops/cuda/op.h"

namespace lockstep::cuda {
namespace {

/// Addresses and sizes of a group norm. T: type of stored activations.
template <class T>
struct Norm {
  Index samples = 0;
  Index pixels = 0;  ///< of an image
  Index channels = 0;
  Index packs = 0;           ///< of a pixel
  Index groups = 0;          ///< of channels
  Index group_channels = 0;  ///< channels of a group
  double eps = 0.0;
  const Pack<T>* input = nullptr;
  const Pack<T>* grad_output = nullptr;
  const float* weight = nullptr;       ///< [channel]
  const float* bias = nullptr;         ///< [channel]
  float* mean = nullptr;               ///< [sample][group]
  float* inverse_deviation = nullptr;  ///< [sample][group]

  LOCKSTEP_HD Index sample_of(Index pack) const { return pack / packs / pixels; }
  LOCKSTEP_HD Index statistics_at(Index sample, Index channel) const {
    return sample * groups + channel / group_channels;
  }
  LOCKSTEP_HD double values() const {
    return static_cast<double>(pixels) * static_cast<double>(group_channels);
  }
};

/// Computes mean and inverse standard deviation from the sums of values and of squares, in double. One row
/// per group of each sample.
template <class T>
struct ComputeStatistics {
  using Sum = SumPair<double>;
  Norm<T> norm;

  LOCKSTEP_HD std::size_t terms(std::size_t /*row*/) const { return norm.pixels * norm.group_channels; }
  LOCKSTEP_HD SumPair<double> term(std::size_t row_number, std::size_t number) const {
    const auto row = static_cast<Index>(row_number);
    const auto k = static_cast<Index>(number);
    const Index pixel = row / norm.groups * norm.pixels + k / norm.group_channels;
    const Index c = row % norm.groups * norm.group_channels + k % norm.group_channels;
    const auto* const values = reinterpret_cast<const T*>(norm.input + pixel * norm.packs);
    const auto value = static_cast<double>(to_float(values[c]));
    return {value, value * value};
  }
  LOCKSTEP_HD void finish(std::size_t row, const SumPair<double>& sum) const {
    const double mean = sum.first / norm.values();
    const double variance = sum.second / norm.values() - mean * mean;
    norm.mean[row] = static_cast<float>(mean);
    norm.inverse_deviation[row] =
        static_cast<float>(1.0 / std::sqrt((variance < 0.0 ? 0.0 : variance) + norm.eps));
  }
};

template <class T>
struct NormalizeGroups {
  Norm<T> norm;
  Pack<T>* output;

  LOCKSTEP_HD void operator()(std::size_t index) const {
    const auto i = static_cast<Index>(index);
    const Pack<float> input = to_floats(norm.input[i]);
    Pack<float> result{};
    for (int k = 0; k < channel_unit; ++k) {
      const Index c = i % norm.packs * channel_unit + static_cast<Index>(k);
      if (c >= norm.channels) continue;
      const Index at = norm.statistics_at(norm.sample_of(i), c);
      const float normal = (input.values[k] - norm.mean[at]) * norm.inverse_deviation[at];
      result.values[k] = std::fma(normal, norm.weight[c], norm.bias[c]);
    }
    output[i] = from_floats<T>(result);
  }
};

/// Computes two sums over the pixels of each channel: of gradients, and of gradients times the normalized
/// input. One row per pack of each sample. `sums`: [sample][channel][2].
template <class T>
struct SumOverPixels {
  using Sum = SumPair<PackSum>;
  Norm<T> norm;
  float* sums;

  LOCKSTEP_HD std::size_t terms(std::size_t /*row*/) const { return norm.pixels; }
  LOCKSTEP_HD SumPair<PackSum> term(std::size_t row_number, std::size_t number) const {
    const auto row = static_cast<Index>(row_number);
    const auto k = static_cast<Index>(number);
    const Index sample = row / norm.packs;
    const Index i = (sample * norm.pixels + k) * norm.packs + row % norm.packs;
    const Pack<float> grad = to_floats(norm.grad_output[i]);
    const Pack<float> input = to_floats(norm.input[i]);
    SumPair<PackSum> sum;
    for (int j = 0; j < channel_unit; ++j) {
      const Index c = row % norm.packs * channel_unit + static_cast<Index>(j);
      if (c >= norm.channels) continue;
      const Index at = norm.statistics_at(sample, c);
      const float normal = (input.values[j] - norm.mean[at]) * norm.inverse_deviation[at];
      sum.first.values[j] = static_cast<double>(grad.values[j]);
      sum.second.values[j] = static_cast<double>(grad.values[j]) * static_cast<double>(normal);
    }
    return sum;
  }
  LOCKSTEP_HD void finish(std::size_t row_number, const SumPair<PackSum>& sum) const {
    const auto row = static_cast<Index>(row_number);
    for (int j = 0; j < channel_unit; ++j) {
      const Index c = row % norm.packs * channel_unit + static_cast<Index>(j);
      if (c >= norm.channels) continue;
      float* const to = sums + 2 * (row / norm.packs * norm.channels + c);
      to[0] = static_cast<float>(sum.first.values[j]);
      to[1] = static_cast<float>(sum.second.values[j]);
    }
  }
};

/// Computes the means, over the values of a group, of weight times the sums of SumOverPixels. One row per
/// group of each sample. `means`: [row][2].
template <class T>
struct ComputeGroupMeans {
  using Sum = SumPair<double>;
  Norm<T> norm;
  const float* sums;
  float* means;

  LOCKSTEP_HD std::size_t terms(std::size_t /*row*/) const { return norm.group_channels; }
  LOCKSTEP_HD SumPair<double> term(std::size_t row_number, std::size_t number) const {
    const auto row = static_cast<Index>(row_number);
    const auto k = static_cast<Index>(number);
    const Index c = row % norm.groups * norm.group_channels + k;
    const float* const from = sums + 2 * (row / norm.groups * norm.channels + c);
    const auto weight = static_cast<double>(norm.weight[c]);
    return {weight * static_cast<double>(from[0]), weight * static_cast<double>(from[1])};
  }
  LOCKSTEP_HD void finish(std::size_t row, const SumPair<double>& sum) const {
    means[2 * row] = static_cast<float>(sum.first / norm.values());
    means[2 * row + 1] = static_cast<float>(sum.second / norm.values());
  }
};

/// dx = inverse * (dy * weight - mean(dy * weight) - normal * mean(dy * weight * normal)).
template <class T>
struct ComputeInputGradient {
  Norm<T> norm;
  const float* means;
  Pack<T>* grad_input;

  LOCKSTEP_HD void operator()(std::size_t index) const {
    const auto i = static_cast<Index>(index);
    const Pack<float> grad = to_floats(norm.grad_output[i]);
    const Pack<float> input = to_floats(norm.input[i]);
    Pack<float> result{};
    for (int k = 0; k < channel_unit; ++k) {
      const Index c = i % norm.packs * channel_unit + static_cast<Index>(k);
      if (c >= norm.channels) continue;
      const Index at = norm.statistics_at(norm.sample_of(i), c);
      const float inverse = norm.inverse_deviation[at];
      const float normal = (input.values[k] - norm.mean[at]) * inverse;
      const float centered = grad.values[k] * norm.weight[c] - means[2 * at];
      result.values[k] = std::fma(-normal, means[2 * at + 1], centered) * inverse;
    }
    grad_input[i] = from_floats<T>(result);
  }
};

/// Computes the gradients of parameters by adding up the sums of all samples. One row per channel.
template <class T>
struct SumOverSamples {
  using Sum = SumPair<double>;
  Norm<T> norm;
  const float* sums;
  float* grad_weight;
  float* grad_bias;

  LOCKSTEP_HD std::size_t terms(std::size_t /*row*/) const { return norm.samples; }
  LOCKSTEP_HD SumPair<double> term(std::size_t row_number, std::size_t number) const {
    const auto row = static_cast<Index>(row_number);
    const auto k = static_cast<Index>(number);
    const float* const from = sums + 2 * (k * norm.channels + row);
    return {static_cast<double>(from[0]), static_cast<double>(from[1])};
  }
  LOCKSTEP_HD void finish(std::size_t row, const SumPair<double>& sum) const {
    grad_bias[row] = static_cast<float>(sum.first);
    grad_weight[row] = static_cast<float>(sum.second);
  }
};

/// A group norm planned for a number of samples.
struct GroupNormLayer {
  GroupNorm options;
  Type type;
  Shape image;
  std::size_t samples;
  std::size_t inverse = 0;  ///< offset of inverse deviations in saved memory, after the means
  std::size_t means = 0;    ///< offset in scratch memory, after the sums of channels

  std::size_t packs() const { return packs_of(samples * pixels(), image.channels); }
  std::size_t pixels() const {
    return static_cast<std::size_t>(image.height) * static_cast<std::size_t>(image.width);
  }
};

template <class T>
Norm<T> norm_of(const GroupNormLayer& layer, const OpMemory& memory) {
  const auto channels = static_cast<Index>(layer.image.channels);
  const auto groups = static_cast<Index>(layer.options.groups);
  return {.samples = static_cast<Index>(layer.samples),
          .pixels = static_cast<Index>(layer.pixels()),
          .channels = channels,
          .packs = static_cast<Index>(packs_of(1, layer.image.channels)),
          .groups = groups,
          .group_channels = channels / groups,
          .eps = layer.options.eps,
          .input = packs_at<T>(memory.inputs[0]),
          .grad_output = packs_at<T>(memory.grad_output),
          .weight = memory.parameters[0],
          .bias = memory.parameters[1],
          .mean = reinterpret_cast<float*>(memory.saved),
          .inverse_deviation = reinterpret_cast<float*>(memory.saved + layer.inverse)};
}

void forward(const GroupNormLayer& layer, const OpMemory& memory) {
  with_stored(layer.type, [&]<class T>(T /*stored*/) {
    const Norm<T> norm = norm_of<T>(layer, memory);
    for_each_row(memory.stream, norm.samples * norm.groups, ComputeStatistics<T>{norm});
    for_each(memory.stream, layer.packs(), NormalizeGroups<T>{norm, packs_at<T>(memory.output)});
  });
}

void backward(const GroupNormLayer& layer, const OpMemory& memory) {
  auto* const sums = reinterpret_cast<float*>(memory.scratch);
  auto* const means = reinterpret_cast<float*>(memory.scratch + layer.means);
  with_stored(layer.type, [&]<class T>(T /*stored*/) {
    const Norm<T> norm = norm_of<T>(layer, memory);
    for_each_row(memory.stream, norm.samples * norm.packs, SumOverPixels<T>{norm, sums});
    for_each_row(memory.stream, norm.channels,
                 SumOverSamples<T>{norm, sums, memory.grad_parameters[0], memory.grad_parameters[1]});
    if (memory.grad_inputs[0] == nullptr) return;
    for_each_row(memory.stream, norm.samples * norm.groups, ComputeGroupMeans<T>{norm, sums, means});
    for_each(memory.stream, layer.packs(),
             ComputeInputGradient<T>{norm, means, packs_at<T>(memory.grad_inputs[0])});
  });
}

}  // namespace

Op plan(const GroupNorm& options, const OpRequest& request) {
  GroupNormLayer layer{.options = options,
                       .type = request.type,
                       .image = request.node.shape,
                       .samples = static_cast<std::size_t>(request.samples)};
  const std::size_t statistics = layer.samples * static_cast<std::size_t>(options.groups) * sizeof(float);
  ScratchLayout saved, scratch;
  saved.add(statistics);
  layer.inverse = saved.add(statistics);
  scratch.add(2 * layer.samples * static_cast<std::size_t>(layer.image.channels) * sizeof(float));
  layer.means = scratch.add(2 * statistics);
  Op op;
  op.saved_bytes = saved.bytes();
  op.scratch_bytes = scratch.bytes();
  op.backward_reads_inputs = 1;
  op.forward = [layer](const OpMemory& memory) { forward(layer, memory); };
  op.backward = [layer](const OpMemory& memory) { backward(layer, memory); };
  return op;
}

}  // namespace lockstep::cuda
