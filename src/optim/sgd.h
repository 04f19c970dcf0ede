#pragma once

#include "lockstep/optimizer.h"

namespace lockstep {

/// Stochastic gradient descent as in torch.optim.SGD: g += weight_decay * p; v = momentum * v + g;
/// p -= learning_rate * v (dampening 0; without momentum v = g and there is no state), with nesterov
/// p -= learning_rate * (g + momentum * v).
class Sgd : public Optimizer {
 public:
  /// Throws Error(usage) for a momentum outside of [0, 1), for nesterov without momentum, and for other
  /// rules' options.
  explicit Sgd(const OptimizerOptions& options);
  std::string name() const override { return "sgd"; }
  std::vector<std::string> states() const override;
  void update(std::span<float> parameters, std::span<const float> gradients,
              std::span<const std::span<float>> states, const Step& step) const override;

 private:
  float weight_decay_;
  float momentum_;
  bool nesterov_;
};

}  // namespace lockstep
