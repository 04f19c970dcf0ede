#pragma once

#include "lockstep/optimizer.h"

namespace lockstep {

/// Adam with decoupled weight decay as in torch.optim.AdamW (Loshchilov and Hutter, 2019):
/// p -= learning_rate * weight_decay * p; m = beta1 * m + (1 - beta1) * g; v = beta2 * v + (1 - beta2) * g^2;
/// p -= learning_rate / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps).
class AdamW : public Optimizer {
 public:
  /// Throws Error(usage) for betas outside of [0, 1), a negative eps, and for other rules' options.
  explicit AdamW(const OptimizerOptions& options);
  std::string name() const override { return "adamw"; }
  std::vector<std::string> states() const override { return {"exp_avg", "exp_avg_sq"}; }
  void update(std::span<float> parameters, std::span<const float> gradients,
              std::span<const std::span<float>> states, const Step& step) const override;

 private:
  double beta1_, beta2_;
  float eps_;
  float weight_decay_;
};

}  // namespace lockstep
