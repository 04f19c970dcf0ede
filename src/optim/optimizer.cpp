#include "lockstep/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text/printable.h"
#include "lockstep/error.h"
#include "optim/rules/rules.h"

namespace lockstep {
namespace {

void expect_length(std::size_t length, std::size_t elements) {
  if (length == elements) return;
  throw Error(Category::usage,
              fmt::format("an array of {} floats was given to an update of {}", length, elements));
}

/// Number of states of the rule: state_names().size(), but without allocating memory.
template <class Rule>
constexpr std::size_t states_of() {
  if constexpr (Rule::layerwise) return std::max(Rule::update_states, Rule::prepare_states);
  return Rule::update_states;
}

void check_arrays(std::size_t elements, std::size_t gradients, std::span<const std::span<float>> states,
                  std::size_t count) {
  expect_length(gradients, elements);
  if (states.size() != count) {
    throw Error(Category::usage, fmt::format("{} given to an optimizer that has {}: see states()",
                                             counted(states.size(), "state"), count));
  }
  for (const std::span<float>& state : states) expect_length(state.size(), elements);
}

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

}  // namespace

Optimizer::Optimizer(const OptimizerOptions& options)
    : rule_(std::make_unique<OptimizerRule>(make_rule(options))) {}
Optimizer::~Optimizer() = default;

std::vector<std::string> Optimizer::states() const {
  return std::visit([]<class Rule>(const Rule&) { return Rule::state_names(); }, rule_->value);
}

bool Optimizer::layerwise() const {
  return std::visit([]<class Rule>(const Rule&) { return Rule::layerwise; }, rule_->value);
}

/// Compilers vectorise these loops, as rules are inlined into them.
void Optimizer::update(std::span<float> parameters, std::span<const float> gradients,
                       std::span<const std::span<float>> states, const Step& step) const {
  const auto apply = [&]<class Rule>(const Rule& rule) {
    check_arrays(parameters.size(), gradients.size(), states, states_of<Rule>());
    const auto coefficients = rule.coefficients(step);
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
  };
  std::visit(apply, rule_->value);
}

void Optimizer::prepare(std::span<const float> parameters, std::span<float> gradients,
                        std::span<const std::span<float>> states, const Step& step) const {
  const auto apply = [&]<class Rule>(const Rule& rule) {
    check_arrays(parameters.size(), gradients.size(), states, states_of<Rule>());
    if constexpr (Rule::layerwise) {
      const auto coefficients = rule.coefficients(step);
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
  };
  std::visit(apply, rule_->value);
}

float Optimizer::trust_ratio(double parameter_norm, double gradient_norm, const Step& step) const {
  const auto ratio = [&]<class Rule>(const Rule& rule) {
    if constexpr (Rule::layerwise) return rule.trust_ratio(parameter_norm, gradient_norm, step.weight_decay);
    return 1.0F;
  };
  return std::visit(ratio, rule_->value);
}

}  // namespace lockstep
