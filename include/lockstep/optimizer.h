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
    bool weight_decay = true;  ///< whether these elements decay
    float trust_ratio = 1.0F;  ///< of the parameter that these elements are of; layer-wise rules
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

/// A rule whose step also depends on norms of whole parameters: `prepare` on all of a parameter's elements,
/// then its trust ratio, then `update` on what `prepare` left in the gradients.
class LayerwiseOptimizer : public Optimizer {
 public:
  /// Turns the sums of gradients into the vector that the trust ratio and `update` are about. Thread-safe.
  virtual void prepare(std::span<const float> parameters, std::span<float> gradients,
                       std::span<const std::span<float>> states, const Step& step) const = 0;
  /// From the Euclidean norms of a parameter and of what `prepare` made of its gradient.
  virtual float trust_ratio(double parameter_norm, double gradient_norm, const Step& step) const = 0;
};

/// How the gradient changes the parameters. A rule that has no use for an option of other rules refuses
/// another value than the default.
struct OptimizerOptions {
  std::string name = "sgd";
  double momentum = 0.0;            ///< sgd, lars
  bool nesterov = false;            ///< sgd, lars
  double beta1 = 0.9;               ///< adamw, lamb
  double beta2 = 0.999;             ///< adamw, lamb
  double eps = 0.0;                 ///< 0: the rule's own, adamw and lars 1e-8, lamb 1e-6
  double trust_coefficient = 1e-3;  ///< lars
  /// lars, lamb: trust ratios of parameters with one dimension (biases, norms) too; else theirs is 1.
  bool always_adapt = false;
  double weight_decay = 0.0;        ///< sgd, lars: added to the gradient; adamw, lamb: decoupled
  bool filter_bias_and_bn = false;  ///< no weight decay on parameters with one dimension
  double clip_grad = 0.0;           ///< largest norm of the gradient of all trained parameters; 0: any
  /// Parameters, by name or layer, * and ? as in file names, that are not updated. A batch norm whose running
  /// statistics are frozen still normalises by the micro-batch's while training.
  std::vector<std::string> freeze = {};

  bool operator==(const OptimizerOptions&) const = default;
};

/// The rule called `options.name`. Throws Error(usage) for an unknown name or impossible options.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options);
std::vector<std::string> optimizer_names();

}  // namespace lockstep
