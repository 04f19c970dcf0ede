#pragma once

#include "lockstep/optimizer.h"

namespace lockstep {

/// Layer-wise adaptive rate scaling (You, Gitman and Ginsburg, 2017) as timm's `lars`:
/// g = (g + weight_decay * p) * trust_coefficient * |p| / (|g| + weight_decay * |p| + eps), by the norms of
/// the whole parameter and the gradient without decay, the factor 1 where either is 0; then as sgd.
class Lars : public LayerwiseOptimizer {
 public:
  /// Throws Error(usage) as Sgd does, and for a negative eps.
  explicit Lars(const OptimizerOptions& options);
  std::string name() const override { return "lars"; }
  std::vector<std::string> states() const override;
  void prepare(std::span<const float> parameters, std::span<float> gradients,
               std::span<const std::span<float>> states, const Step& step) const override;
  float trust_ratio(double parameter_norm, double gradient_norm, const Step& step) const override;
  void update(std::span<float> parameters, std::span<const float> gradients,
              std::span<const std::span<float>> states, const Step& step) const override;

 private:
  double trust_coefficient_;
  double eps_;
  double weight_decay_;
  float momentum_;
  bool nesterov_;
};

}  // namespace lockstep
