#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lockstep/field.h"

namespace lockstep {

struct OptimizerOptions;
struct OptimizerRule;

/// An update rule with its options. Elements are updated independently: the result does not depend on how
/// arenas are divided between calls, or on the order of the calls. Safe from any thread. Denormals become
/// zero, as in training, only if the calling thread flushes them; constructing a Replica makes it do so.
class Optimizer {
 public:
  struct Step {
    float gradient_scale = 1.0F;  ///< 1 / samples of the global batch: gradients are passed as sums
    float learning_rate = 0.0F;
    std::uint64_t number = 1;  ///< number of the step, from 1 over the whole run
    bool weight_decay = true;  ///< whether weight decay applies to these elements
    float trust_ratio = 1.0F;  ///< layer-wise rules: trust ratio of the parameter that has these elements
  };

  /// Throws Error(usage) for an unknown name or impossible options.
  explicit Optimizer(const OptimizerOptions& options);
  ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Names of the per-element states, e.g. {"momentum"}. Each state is an arena with the parameters' layout,
  /// initially zero.
  std::vector<std::string> states() const;
  /// Updates `parameters` in place. `states`: one for each name of states(), in this order. Parameters,
  /// gradients and each state must have the same length, else `update` and `prepare` throw Error(usage).
  void update(std::span<float> parameters, std::span<const float> gradients,
              std::span<const std::span<float>> states, const Step& step) const;

  /// Whether the step also depends on norms of whole parameters. If so, call `prepare` on all elements of a
  /// parameter, then `trust_ratio`, then `update` with the gradients that `prepare` wrote.
  bool layerwise() const;
  /// Turns the sums of gradients into the vector from which the trust ratio and `update` are computed. No
  /// effect for other rules.
  void prepare(std::span<const float> parameters, std::span<float> gradients,
               std::span<const std::span<float>> states, const Step& step) const;
  /// Trust ratio from the Euclidean norms of a parameter and of its prepared gradient; 1 for other rules.
  float trust_ratio(double parameter_norm, double gradient_norm, const Step& step) const;

  /// Arithmetic of the rule, for kernels (src/optim/rules/rules.h).
  const OptimizerRule& rule() const { return *rule_; }

 private:
  std::unique_ptr<const OptimizerRule> rule_;
};

/// Choice and options of an update rule; `visit` describes them.
struct OptimizerOptions {
  std::string name = "sgd";
  double momentum = 0.0;
  bool nesterov = false;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 0.0;
  double trust_coefficient = 1e-3;
  bool always_adapt = false;
  double weight_decay = 0.0;
  bool filter_bias_and_bn = false;
  double clip_grad = 0.0;
  std::vector<std::string> freeze = {};

  bool operator==(const OptimizerOptions&) const = default;
};

std::vector<std::string> optimizer_names();

template <OptionsOf<OptimizerOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  auto& [name, momentum, nesterov, beta1, beta2, eps, trust_coefficient, always_adapt, weight_decay,
         filter_bias_and_bn, clip_grad, freeze] = options;
  field(name, {.name = "optimizer", .help = "update rule", .group = "Optimizer", .choices = optimizer_names});
  field(momentum, {.name = "momentum",
                   .help = "momentum factor",
                   .range = {.below = 1},
                   .needs = {{"optimizer", {"sgd", "lars"}}}});
  field(nesterov, {.name = "nesterov",
                   .help = "use Nesterov momentum",
                   .needs = {{"optimizer", {"sgd", "lars"}}, {"momentum"}}});
  field(weight_decay, {.name = "weight-decay",
                       .help = "sgd, lars: L2 penalty: this times the parameter is added to the gradient; "
                               "adamw, lamb: decoupled: this times the learning rate (lamb: times the trust "
                               "ratio) times the parameter is subtracted from the parameter"});
  field(filter_bias_and_bn,
        {.name = "filter-bias-and-bn",
         .help = "no weight decay of parameters with one dimension: biases, and weights of norm layers",
         .needs = {{"weight-decay"}}});
  field(beta1, {.name = "beta1",
                .help = "decay of the running mean of the gradient",
                .range = {.below = 1},
                .needs = {{"optimizer", {"adamw", "lamb"}}}});
  field(beta2, {.name = "beta2",
                .help = "decay of the running mean of the squared gradient",
                .range = {.below = 1},
                .needs = {{"optimizer", {"adamw", "lamb"}}}});
  field(eps, {.name = "opt-eps",
              .help = "added to the denominator of the update (lars: of the trust ratio); 0: the default of "
                      "the rule, 1e-8 (lamb: 1e-6)",
              .needs = {{"optimizer", {"adamw", "lamb", "lars"}}}});
  field(trust_coefficient, {.name = "trust-coeff",
                            .help = "trust coefficient: maximum step relative to the norm of the parameter",
                            .needs = {{"optimizer", {"lars"}}}});
  field(always_adapt, {.name = "always-adapt",
                       .help = "scale the learning rate of biases and norm layers by the trust ratio, too; "
                               "without it only that of weights is scaled, whatever their weight decay "
                               "(timm: that of all parameters with weight decay)",
                       .needs = {{"optimizer", {"lamb", "lars"}}}});
  field(clip_grad, {.name = "clip-grad",
                    .help = "maximum norm of the gradient of all trained parameters together; larger "
                            "gradients are scaled down to it; 0: no clipping (the paper of LAMB clips to 1)",
                    .placeholder = "NORM"});
  field(freeze, {.name = "freeze",
                 .help = "do not update these parameters or layers: names, in which * and ? are wildcards; "
                         "may be given several times. A frozen batch norm keeps its running statistics, but "
                         "in training still normalises by those of the micro-batch"});
}

}  // namespace lockstep
