#pragma once

#include <array>

#include "optim/rules/rule.h"

namespace lockstep {

/// The first `count` states of one element at a time.
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

/// The optimizer of a rule. Compilers vectorise its loops, as rules are inlined into them.
template <class Rule>
class RuleOptimizer final : public Optimizer {
 public:
  explicit RuleOptimizer(const Rule& rule) : rule_(rule) {}
  std::string name() const override { return Rule::name; }
  std::vector<std::string> states() const override { return Rule::state_names(); }
  bool layerwise() const override { return Rule::layerwise; }

  void update(std::span<float> parameters, std::span<const float> gradients,
              std::span<const std::span<float>> states, const Step& step) const override {
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

  void prepare(std::span<const float> parameters, std::span<float> gradients,
               std::span<const std::span<float>> states, const Step& step) const override {
    if constexpr (Rule::layerwise) {
      const auto coefficients = rule_.coefficients(step);
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
  }

  float trust_ratio(double parameter_norm, double gradient_norm, const Step& step) const override {
    if constexpr (Rule::layerwise) {
      return rule_.trust_ratio(parameter_norm, gradient_norm, step.weight_decay);
    } else {
      return 1.0F;
    }
  }

 private:
  Rule rule_;
};

}  // namespace lockstep
