#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lockstep {

/// A rule that updates parameters element by element. Called on parts of the arena, in any order, by the
/// rank that owns them; the same bits whatever the parts are.
class Optimizer {
 public:
  struct Step {
    float gradient_scale = 1.0F;  ///< 1 / samples of the global batch: gradients arrive as sums
    float learning_rate = 0.0F;
    std::uint64_t number = 1;  ///< steps from 1 over the whole run
  };

  virtual ~Optimizer() = default;
  virtual std::string name() const = 0;
  /// Names of its per-element states, e.g. {"momentum"}; each is an arena of the parameters' layout,
  /// starting as zeros.
  virtual std::vector<std::string> states() const = 0;
  /// parameters, gradients and each state have the same length. Thread-safe.
  virtual void update(std::span<float> parameters, std::span<const float> gradients,
                      std::span<const std::span<float>> states, const Step& step) const = 0;
};

/// A rule that has no use for an option refuses another value than the default.
struct OptimizerOptions {
  float momentum = 0.0F;      ///< sgd
  float weight_decay = 0.0F;  ///< sgd: added to the gradient; adamw: decoupled
  bool nesterov = false;      ///< sgd
  double beta1 = 0.9;         ///< adamw
  double beta2 = 0.999;       ///< adamw
  double eps = 1e-8;          ///< adamw
};

/// The rule called `name`. Throws Error(usage) for an unknown name or impossible options.
std::unique_ptr<Optimizer> make_optimizer(const std::string& name, const OptimizerOptions& options);
std::vector<std::string> optimizer_names();

}  // namespace lockstep
