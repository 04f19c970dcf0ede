#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "ops/cpu/op.h"
#include "ops/lanes.h"

namespace lockstep::test {

/// Logits and numbers as targets of a loss.
struct TargetLossCase {
  Task task;
  Tensor logits;
  std::vector<float> targets;   ///< [sample][output]
  std::vector<float> shares{};  ///< empty: samples are not mixed

  int outputs() const { return logits.shape.channels; }
  double logit(int sample, int output) const { return logits.at(sample, output, 0, 0); }
  /// Target of an output, mixed with that of the partner.
  double target(int sample, int output) const {
    const auto own = [&](int n) { return targets[static_cast<std::size_t>(n * outputs() + output)]; };
    if (shares.empty()) return static_cast<double>(own(sample));
    const float share = shares[static_cast<std::size_t>(sample)];
    return static_cast<double>(
        std::fma(share, own(sample), (1.0F - share) * own(logits.samples - 1 - sample)));
  }
};

/// Random logits in [-scale / 2, scale / 2), exact in float, and targets in the same range, or 0 and 1.
inline TargetLossCase random_target_case(Task task, int samples, int outputs, double scale, bool mixed) {
  std::mt19937 generator(static_cast<unsigned>(samples * 1000 + outputs));
  const auto uniform = [&] { return static_cast<double>(generator()) / 4294967296.0; };
  TargetLossCase result{task, Tensor(samples, {outputs, 1, 1}), {}};
  for (double& value : result.logits.values) {
    value = static_cast<double>(static_cast<float>((uniform() - 0.5) * scale));
    result.targets.push_back(static_cast<float>(task == Task::multilabel ? std::floor(uniform() * 2.0)
                                                                         : (uniform() - 0.5) * scale));
  }
  for (int n = 0; mixed && n < samples; ++n) result.shares.push_back(static_cast<float>(uniform()));
  return result;
}

/// Loss of one output in double precision, as PyTorch defines mse_loss and binary_cross_entropy_with_logits.
inline double expected_loss(Task task, double z, double t) {
  if (task == Task::regression) return (z - t) * (z - t);
  const double log_probability = z < 0.0 ? z - std::log1p(std::exp(z)) : -std::log1p(std::exp(-z));
  return -t * log_probability - (1.0 - t) * (log_probability - z);
}

inline double expected_gradient(Task task, double z, double t) {
  return task == Task::regression ? 2.0 * (z - t) : 1.0 / (1.0 + std::exp(-z)) - t;
}

struct TargetLossResults {
  LeafResult result;
  Tensor grad;
};

/// Results in double precision.
inline TargetLossResults expected_results(const TargetLossCase& given) {
  TargetLossResults expected{{}, given.logits};
  const int outputs = given.outputs();
  for (int n = 0; n < given.logits.samples; ++n) {
    for (int k = 0; k < outputs; ++k) {
      const double z = given.logit(n, k), t = given.target(n, k);
      expected.result.loss += expected_loss(given.task, z, t) / outputs;
      expected.result.correct += given.task == Task::multilabel && (z > 0.0) == (t > 0.5) ? 1 : 0;
      expected.result.absolute_error += std::fabs(z - t);
      expected.result.target += t;
      expected.result.squared_target += t * t;
      expected.grad.at(n, k, 0, 0) = expected_gradient(given.task, z, t) / outputs;
    }
  }
  expected.result.samples = static_cast<std::uint64_t>(given.logits.samples);
  return expected;
}

struct TargetLossOnCpu {
  LeafResult result;
  Lanes grad;
};

/// Runs the loss on one instruction set, with or without its gradient.
inline TargetLossOnCpu run_target_loss(const TargetLossCase& given, cpu::Level level, bool gradient = true) {
  const cpu::Loss loss = cpu::plan_loss(given.logits.shape, {.task = given.task}, level);
  const Lanes logits = to_lanes(given.logits);
  TargetLossOnCpu results{{}, Lanes(gradient ? logits.size() : 0)};
  cpu::LossMemory memory;
  memory.samples = given.logits.samples;
  memory.logits = logits.data();
  memory.gradient = gradient ? results.grad.data() : nullptr;
  memory.targets = given.targets.data();
  memory.shares = given.shares.empty() ? nullptr : given.shares.data();
  memory.result = &results.result;
  loss(memory);
  return results;
}

inline void expect_same_sums(const LeafResult& actual, const LeafResult& expected, double tolerance) {
  EXPECT_EQ(actual.correct, expected.correct);
  EXPECT_EQ(actual.samples, expected.samples);
  EXPECT_NEAR(actual.loss, expected.loss, tolerance * (1.0 + expected.loss));
  EXPECT_NEAR(actual.absolute_error, expected.absolute_error, tolerance * (1.0 + expected.absolute_error));
  EXPECT_NEAR(actual.target, expected.target, tolerance * (1.0 + expected.squared_target));
  EXPECT_NEAR(actual.squared_target, expected.squared_target, tolerance * (1.0 + expected.squared_target));
}

}  // namespace lockstep::test
