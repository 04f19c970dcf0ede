#include "ops/cuda/kernels/target_loss.h"

#include "core/bfloat16.h"
#include "device/cuda/native/launch.h"
#include "ops/cuda/kernels/pack.h"
#include "ops/float_arithmetic.h"
#include "ops/target_losses.h"

namespace lockstep::cuda {
namespace {

/// A task whose logits and gradients are stored as T.
template <class T>
struct Outputs {
  explicit Outputs(const TargetLossTask& given)
      : task(given), channels(static_cast<std::size_t>(padded_channels(given.outputs))) {}

  TargetLossTask task;
  std::size_t channels;

  LOCKSTEP_HD float logit(std::size_t sample, std::size_t output) const {
    return to_float(static_cast<const T*>(task.logits)[sample * channels + output]);
  }
  LOCKSTEP_HD float own_target(std::size_t sample, std::size_t output) const {
    return task.targets[sample * static_cast<std::size_t>(task.outputs) + output];
  }
  LOCKSTEP_HD float target(std::size_t sample, std::size_t output) const {
    const float own = own_target(sample, output);
    if (task.shares == nullptr) return own;
    const float share = task.shares[sample];
    const std::size_t partner = static_cast<std::size_t>(task.samples) - 1 - sample;
    return fmaf(share, own, (1.0F - share) * own_target(partner, output));
  }
};

/// Writes one element of the gradient; zero in padding.
template <class T, class Rule>
struct WriteTargetGradients {
  Outputs<T> outputs;

  LOCKSTEP_HD void operator()(std::size_t index) const {
    const std::size_t sample = index / outputs.channels, output = index % outputs.channels;
    float gradient = 0.0F;
    if (output < static_cast<std::size_t>(outputs.task.outputs)) {
      gradient = Rule::gradient(outputs.logit(sample, output), outputs.target(sample, output)) *
                 (1.0F / static_cast<float>(outputs.task.outputs));
    }
    static_cast<T*>(outputs.task.gradient)[index] = from_float<T>(gradient);
  }
};

/// One row, whose terms are the outputs of all samples.
template <class T, class Rule>
struct SumOutputs {
  using Sum = LeafResult;
  Outputs<T> outputs;

  LOCKSTEP_HD std::size_t terms(std::size_t /*row*/) const {
    return static_cast<std::size_t>(outputs.task.samples) * static_cast<std::size_t>(outputs.task.outputs);
  }
  LOCKSTEP_HD LeafResult term(std::size_t /*row*/, std::size_t i) const {
    const auto count = static_cast<std::size_t>(outputs.task.outputs);
    const float z = outputs.logit(i / count, i % count), t = outputs.target(i / count, i % count);
    const auto target = static_cast<double>(t);
    LeafResult result;
    result.loss = Rule::value(z, t, Rule::decay(z));
    result.correct = Rule::is_right(z, t) ? 1 : 0;
    result.absolute_error = fabs(static_cast<double>(z) - target);
    result.target = target;
    result.squared_target = target * target;
    return result;
  }
  LOCKSTEP_HD void finish(std::size_t /*row*/, const LeafResult& sum) const {
    LeafResult result = sum;
    result.loss /= outputs.task.outputs;
    result.samples = static_cast<std::uint64_t>(outputs.task.samples);
    *outputs.task.result = result;
  }
};

template <template <class> class Rule>
void run_loss(StreamHandle stream, const TargetLossTask& task) {
  with_stored(task.type, [&]<class T>(T /*stored*/) {
    const Outputs<T> outputs(task);
    if (task.gradient != nullptr) {
      for_each(stream, static_cast<std::size_t>(task.samples) * outputs.channels,
               WriteTargetGradients<T, Rule<FloatArithmetic>>{outputs});
    }
    for_each_row(stream, 1, SumOutputs<T, Rule<FloatArithmetic>>{outputs});
  });
}

}  // namespace

void squared_error(StreamHandle stream, const TargetLossTask& task) { run_loss<SquaredError>(stream, task); }

void binary_cross_entropy(StreamHandle stream, const TargetLossTask& task) {
  run_loss<BinaryCrossEntropy>(stream, task);
}

}  // namespace lockstep::cuda
