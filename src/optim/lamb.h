#pragma once

#include "lockstep/optimizer.h"

namespace lockstep {

/// Layer-wise adaptive moments (You et al., 2020) as timm's `lamb`: Adam's step with corrected bias,
/// u = m / (1 - beta1^t) / (sqrt(v) / sqrt(1 - beta2^t) + eps) + weight_decay * p, then
/// p -= learning_rate * |p| / |u| * u by the norms of the whole parameter, the factor 1 where either is 0.
/// The paper's limit of the gradient's norm is OptimizerOptions::clip_grad, which timm sets to 1.
class Lamb : public LayerwiseOptimizer {
 public:
  /// Throws Error(usage) for betas outside of [0, 1), a negative eps, and for other rules' options.
  explicit Lamb(const OptimizerOptions& options);
  std::string name() const override { return "lamb"; }
  std::vector<std::string> states() const override { return {"exp_avg", "exp_avg_sq"}; }
  void prepare(std::span<const float> parameters, std::span<float> gradients,
               std::span<const std::span<float>> states, const Step& step) const override;
  float trust_ratio(double parameter_norm, double gradient_norm, const Step& step) const override;
  void update(std::span<float> parameters, std::span<const float> gradients,
              std::span<const std::span<float>> states, const Step& step) const override;

 private:
  double beta1_, beta2_;
  float eps_;
  float weight_decay_;
};

}  // namespace lockstep
