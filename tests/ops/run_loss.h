#pragma once

#include <random>
#include <vector>

#include "ops/cpu/op.h"
#include "ops/lanes.h"

namespace lockstep::test {

/// Logits and targets of a loss.
struct LossCase {
  Tensor logits;
  std::vector<std::int32_t> labels;
  float smoothing = 0;
  std::vector<std::int32_t> others{};  ///< empty: samples are not mixed
  std::vector<float> shares{};
};

/// Random logits in [-scale / 2, scale / 2), exact in float, and labels.
inline LossCase random_case(int samples, int classes, double scale) {
  std::mt19937 generator(static_cast<unsigned>(samples * 1000 + classes));
  LossCase result{Tensor(samples, {classes, 1, 1}), {}};
  for (double& value : result.logits.values) {
    const double uniform = static_cast<double>(generator()) / 4294967296.0 - 0.5;
    value = static_cast<double>(static_cast<float>(uniform * scale));
  }
  for (int n = 0; n < samples; ++n) {
    result.labels.push_back(static_cast<std::int32_t>(generator() % static_cast<unsigned>(classes)));
  }
  return result;
}

/// Gives each sample a second label and a share of the first.
inline void mix(LossCase& given) {
  given.others.assign(given.labels.rbegin(), given.labels.rend());
  for (std::size_t n = 0; n < given.labels.size(); ++n) {
    given.shares.push_back(0.4F + 0.6F * static_cast<float>(n) / static_cast<float>(given.labels.size()));
  }
}

struct LossResults {
  LeafResult result;
  std::vector<std::int32_t> predictions;
  Lanes grad;
};

/// Runs the loss on one instruction set, with or without its gradient.
inline LossResults run_loss(LossCase loss_case, cpu::Level level, bool gradient = true) {
  const int samples = loss_case.logits.samples;
  const cpu::Loss loss = cpu::plan_cross_entropy(loss_case.logits.shape, loss_case.smoothing, level);
  const Lanes logits = to_lanes(loss_case.logits);
  const auto lanes = static_cast<std::size_t>(cpu::groups_of(samples)) * cpu::lanes;
  LossResults results{{}, std::vector<std::int32_t>(lanes), Lanes(gradient ? logits.size() : 0)};
  loss_case.labels.resize(lanes, -1);
  cpu::LossMemory memory;
  if (!loss_case.others.empty()) {
    loss_case.others.resize(lanes, -1);
    loss_case.shares.resize(lanes, 1.0F);
    memory.partner_labels = loss_case.others.data();
    memory.shares = loss_case.shares.data();
  }
  memory.samples = samples;
  memory.logits = logits.data();
  memory.gradient = gradient ? results.grad.data() : nullptr;
  memory.labels = loss_case.labels.data();
  memory.predictions = results.predictions.data();
  memory.result = &results.result;
  loss(memory);
  results.predictions.resize(static_cast<std::size_t>(samples));
  return results;
}

}  // namespace lockstep::test
