#include "lockstep/optimizer.h"

#include <fmt/format.h>

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

void check_arrays(std::size_t elements, std::size_t gradients, std::span<const std::span<float>> states,
                  std::size_t count) {
  expect_length(gradients, elements);
  if (states.size() != count) {
    throw Error(Category::usage, fmt::format("{} given to an optimizer that has {}: see states()",
                                             counted(states.size(), "state"), count));
  }
  for (const std::span<float>& state : states) expect_length(state.size(), elements);
}

/// Calls work(i, states of element i) for each element, with the first `count` states. Compilers vectorise
/// the loop, as the rules in `work` are inlined into it.
template <std::size_t count, class Work>
void for_each_element(std::size_t elements, std::span<const std::span<float>> states, const Work& work) {
  std::array<float*, count> arenas{};
  for (std::size_t k = 0; k < count; ++k) arenas[k] = states[k].data();
  for (std::size_t i = 0; i < elements; ++i) {
    std::array<float, count> state{};
    for (std::size_t k = 0; k < count; ++k) state[k] = arenas[k][i];
    work(i, state.data());
    for (std::size_t k = 0; k < count; ++k) arenas[k][i] = state[k];
  }
}

}  // namespace

Optimizer::Optimizer(const OptimizerOptions& options)
    : rule_(std::make_unique<OptimizerRule>(make_rule(options))) {}
Optimizer::~Optimizer() = default;

std::vector<std::string> Optimizer::states() const {
  return std::visit([]<class Rule>(const Rule&) { return Names(Rule::states.begin(), Rule::states.end()); },
                    rule_->value);
}

bool Optimizer::layerwise() const {
  return std::visit([]<class Rule>(const Rule&) { return Rule::layerwise; }, rule_->value);
}

void Optimizer::update(std::span<float> parameters, std::span<const float> gradients,
                       std::span<const std::span<float>> states, const Step& step) const {
  const auto apply = [&]<class Rule>(const Rule& rule) {
    check_arrays(parameters.size(), gradients.size(), states, Rule::states.size());
    const auto work = [c = rule.coefficients(step), p = parameters.data(), g = gradients.data()](
                          std::size_t i, float* state) {
      float parameter = p[i];
      Rule::update(c, parameter, g[i], state);
      p[i] = parameter;
    };
    for_each_element<Rule::update_states>(parameters.size(), states, work);
  };
  std::visit(apply, rule_->value);
}

void Optimizer::prepare(std::span<const float> parameters, std::span<float> gradients,
                        std::span<const std::span<float>> states, const Step& step) const {
  const auto apply = [&]<class Rule>(const Rule& rule) {
    check_arrays(parameters.size(), gradients.size(), states, Rule::states.size());
    if constexpr (Rule::layerwise) {
      const auto work = [c = rule.coefficients(step), p = parameters.data(), g = gradients.data()](
                            std::size_t i, float* state) {
        float gradient = g[i];
        Rule::prepare(c, p[i], gradient, state);
        g[i] = gradient;
      };
      for_each_element<Rule::prepare_states>(gradients.size(), states, work);
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
