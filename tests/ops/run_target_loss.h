#pragma once

#include <cmath>
#include <random>

#include "ops/run_loss.h"

namespace lockstep::test {

/// Target of an output, mixed with that of the partner.
inline double target_of(const LossCase& given, int sample, int output) {
  const auto own = [&](int n) {
    return given.targets[static_cast<std::size_t>(n * given.logits.shape.channels + output)];
  };
  if (given.shares.empty()) return static_cast<double>(own(sample));
  const float share = given.shares[static_cast<std::size_t>(sample)];
  return static_cast<double>(
      std::fma(share, own(sample), (1.0F - share) * own(given.logits.samples - 1 - sample)));
}

/// Random logits in [-scale / 2, scale / 2), exact in float, and targets in the same range, or 0 and 1.
inline LossCase random_target_case(Task task, int samples, int outputs, double scale, bool mixed) {
  std::mt19937 generator(static_cast<unsigned>(samples * 1000 + outputs));
  const auto uniform = [&] { return static_cast<double>(generator()) / 4294967296.0; };
  LossCase result{.logits = Tensor(samples, {outputs, 1, 1}), .task = task};
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
inline TargetLossResults expected_results(const LossCase& given) {
  TargetLossResults expected{{}, given.logits};
  const int outputs = given.logits.shape.channels;
  for (int n = 0; n < given.logits.samples; ++n) {
    for (int k = 0; k < outputs; ++k) {
      const double z = given.logits.at(n, k, 0, 0), t = target_of(given, n, k);
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

inline void expect_same_sums(const LeafResult& actual, const LeafResult& expected, double tolerance) {
  EXPECT_EQ(actual.correct, expected.correct);
  EXPECT_EQ(actual.samples, expected.samples);
  EXPECT_NEAR(actual.loss, expected.loss, tolerance * (1.0 + expected.loss));
  EXPECT_NEAR(actual.absolute_error, expected.absolute_error, tolerance * (1.0 + expected.absolute_error));
  EXPECT_NEAR(actual.target, expected.target, tolerance * (1.0 + expected.squared_target));
  EXPECT_NEAR(actual.squared_target, expected.squared_target, tolerance * (1.0 + expected.squared_target));
}

}  // namespace lockstep::test
