#pragma once

#include <array>

#include "optim/rules/rule.h"

namespace lockstep {

/// The first `count` states of one element at a time, as a rule wants them.
template <std::size_t count>
class ElementStates {
 public:
  explicit ElementStates(std::span<const std::span<float>> states) {
    for (std::size_t k = 0; k < count; ++k) data_[k] = states[k].data();
  }
  std::array<float, count> load(std::size_t i) const {
    std::array<float, count> values{};
    for (std::size_t k = 0; k < count; ++k) values[k] = data_[k][i];
    return values;
  }
  void store(std::size_t i, const std::array<float, count>& values) const {
    for (std::size_t k = 0; k < count; ++k) data_[k][i] = values[k];
  }

 private:
  std::array<float*, count> data_{};
};

/// An optimizer by its rule. The compiler turns its loops into vectors, as if the arithmetic stood in them.
template <class Rule, class Base = Optimizer>
class RuleOptimizer : public Base {
 public:
  explicit RuleOptimizer(const Rule& rule) : rule_(rule) {}
  std::string name() const override { return Rule::name; }
  std::vector<std::string> states() const override { return Rule::state_names(); }

  void update(std::span<float> parameters, std::span<const float> gradients,
              std::span<const std::span<float>> states, const Optimizer::Step& step) const override {
    const auto coefficients = rule_.coefficients(step);
    const ElementStates<Rule::update_states> arenas(states);
    float* p = parameters.data();
    const float* g = gradients.data();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      auto state = arenas.load(i);
      float parameter = p[i];
      Rule::update(coefficients, parameter, g[i], state.data());
      arenas.store(i, state);
      p[i] = parameter;
    }
  }

 protected:
  Rule rule_;
};

template <class Rule>
class LayerwiseRuleOptimizer : public RuleOptimizer<Rule, LayerwiseOptimizer> {
 public:
  using RuleOptimizer<Rule, LayerwiseOptimizer>::RuleOptimizer;

  void prepare(std::span<const float> parameters, std::span<float> gradients,
               std::span<const std::span<float>> states, const Optimizer::Step& step) const override {
    const auto coefficients = this->rule_.coefficients(step);
    const ElementStates<Rule::prepare_states> arenas(states);
    const float* p = parameters.data();
    float* g = gradients.data();
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      auto state = arenas.load(i);
      float gradient = g[i];
      Rule::prepare(coefficients, p[i], gradient, state.data());
      arenas.store(i, state);
      g[i] = gradient;
    }
  }

  float trust_ratio(double parameter_norm, double gradient_norm, const Optimizer::Step& step) const override {
    return this->rule_.trust_ratio(parameter_norm, gradient_norm, step.weight_decay);
  }
};

}  // namespace lockstep
