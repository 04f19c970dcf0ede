#include "ops/cpu/kernels/target_loss.h"

#include <cmath>

#include "ops/cpu/kernels/vector_arithmetic.h"
#include "ops/cpu/kernels/vectors.h"
#include "ops/target_losses.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {
namespace {

/// Target for one output of a sample, mixed with the partner's if samples are mixed.
float target_of(const TargetLossTask& task, int sample, int output) {
  const auto at = [&](int i) {
    return task.targets[static_cast<std::size_t>(i) * static_cast<std::size_t>(task.outputs) +
                        static_cast<std::size_t>(output)];
  };
  if (task.shares == nullptr) return at(sample);
  const float share = task.shares[sample];
  return std::fma(share, at(sample), (1.0F - share) * at(task.samples - 1 - sample));
}

void add_output(TargetLossTask& task, double loss, bool right, float z, float t) {
  task.loss += loss;
  task.right += right ? 1 : 0;
  const auto target = static_cast<double>(t);
  task.absolute_error += std::fabs(static_cast<double>(z) - target);
  task.target += target;
  task.squared_target += target * target;
}

/// Computes loss and gradient for one output of a group's samples, of which `present` exist.
template <class Rule>
void run_one_output(TargetLossTask& task, int group, int output, int present) {
  const std::size_t at = pixels(static_cast<std::size_t>(group) * static_cast<std::size_t>(task.outputs) +
                                static_cast<std::size_t>(output));
  const float* const logits = task.logits + at;
  alignas(64) float targets[lanes] = {};
  alignas(64) float decays[lanes];
  for (int lane = 0; lane < present; ++lane) targets[lane] = target_of(task, group * lanes + lane, output);
  const Vector mean = hn::Set(floats, 1.0F / static_cast<float>(task.outputs));
  for (int part = 0; part < lanes; part += width) {
    const Vector z = hn::Load(floats, logits + part);
    hn::Store(Rule::decay(z), floats, decays + part);
    if (task.grad == nullptr) continue;
    const Mask exists = hn::FirstN(floats, static_cast<std::size_t>(larger(present - part, 0)));
    const Vector gradient = hn::Mul(Rule::gradient(z, hn::Load(floats, targets + part)), mean);
    hn::Store(hn::IfThenElseZero(exists, gradient), floats, task.grad + at + part);
  }
  for (int lane = 0; lane < present; ++lane) {
    const float z = logits[lane], t = targets[lane];
    add_output(task, Rule::value(z, t, decays[lane]), Rule::is_right(z, t), z, t);
  }
}

template <class Rule>
void run_loss(TargetLossTask& task) {
  task.loss = task.absolute_error = task.target = task.squared_target = 0.0;
  task.right = 0;
  for (int first = 0; first < task.samples; first += lanes) {
    for (int output = 0; output < task.outputs; ++output) {
      run_one_output<Rule>(task, first / lanes, output, smaller(task.samples - first, lanes));
    }
  }
  task.loss /= task.outputs;
}

}  // namespace

const TargetLossKernels target_loss_kernels{
    .squared_error = run_loss<SquaredError<VectorArithmetic>>,
    .binary_cross_entropy = run_loss<BinaryCrossEntropy<VectorArithmetic>>};

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
