#include "onnx/initial_values.h"

#include <gtest/gtest.h>

#include <numeric>

#include "graph/graph.h"
#include "graph/operations.h"

namespace lockstep {
namespace {

/// Name of the initializer that find_initializer recognizes in a layer's initial values, or "trained" if
/// none.
template <class Layer>
std::string found_for(Shape input, Layer options, Initializer rule, std::uint64_t seed) {
  options.weight = rule;
  Network network(input);
  network.add(options, {network.input()});
  const std::vector<Parameter>& parameters = network.parameters();
  const ArenaLayout layout = layout_arena(parameters);
  std::vector<float> arena(layout.elements);
  initialize_parameters(parameters, layout, seed, arena.data());
  const auto values = [&](std::size_t i) {
    return std::span<const float>(arena).subspan(layout.offsets[i], parameters[i].size());
  };
  const auto bias = parameters.size() > 1 ? values(1) : std::span<const float>();
  const auto found = find_initializer(values(0), parameters[0].shape, bias);
  if (!found) return "trained";
  return name_of(found->kind) + (has_scale(found->kind) ? " " + std::to_string(found->scale) : "");
}

TEST(InitialValues, AreThoseFromWhichWeightsWereDrawn) {
  const struct {
    Initializer rule;
    std::string found;
  } rows[] = {{Initializer::standard(), "standard"},
              {Initializer::he_fan_out(), "he_fan_out"},
              {Initializer::zeros(), "zeros"},
              {Initializer::ones(), "ones"},
              {Initializer::normal(0.01), "normal 0.010000"},
              {Initializer::normal(0.005), "normal 0.005000"},
              {Initializer::uniform(0.04), "uniform 0.040000"}};
  for (const auto& [rule, expected] : rows) {
    for (const std::uint64_t seed : {0, 1, 2}) {
      EXPECT_EQ(found_for({64, 9, 9}, Conv2d{.channels = 64, .kernel = 3}, rule, seed), expected);
      EXPECT_EQ(found_for({64, 9, 9}, Conv2d{.channels = 64, .kernel = 3, .bias = false}, rule, seed),
                expected);
      EXPECT_EQ(found_for({512, 1, 1}, Linear{.features = 100}, rule, seed), expected);
    }
  }
}

TEST(InitialValues, OfFewWeightsAreRecognized) {
  const Conv2d depthwise{.channels = 32, .kernel = 3, .groups = 32, .bias = false};
  EXPECT_EQ(found_for({32, 9, 9}, depthwise, Initializer::he_fan_out(), 0), "he_fan_out");
  EXPECT_EQ(found_for({32, 9, 9}, depthwise, Initializer::standard(), 0), "standard");
  EXPECT_EQ(found_for({3, 1, 1}, Linear{.features = 2}, Initializer::standard(), 0), "standard");
}

TEST(InitialValues, TrainedWeightsHaveNone) {
  const std::vector<std::int64_t> shape{64, 64, 3, 3};
  std::vector<float> weights(64 * 64 * 9);
  for (std::size_t i = 0; i < weights.size(); ++i) {  // heavier tails than a normal distribution
    const float u = static_cast<float>(i + 1) / static_cast<float>(weights.size() + 1) * 2.0F - 1.0F;
    weights[i] = 0.02F * u * u * u;
  }
  EXPECT_FALSE(find_initializer(weights, shape, {}));
  weights.assign(weights.size(), std::numeric_limits<float>::quiet_NaN());
  EXPECT_FALSE(find_initializer(weights, shape, {}));
  weights.assign(weights.size(), std::numeric_limits<float>::infinity());
  EXPECT_FALSE(find_initializer(weights, shape, {}));
}

TEST(InitialValues, OfNormalizationsAreConstant) {
  EXPECT_EQ(find_constant_initializer(std::vector{1.0F, 1.0F})->kind, Initializer::Kind::ones);
  EXPECT_EQ(find_constant_initializer(std::vector{0.0F, 0.0F})->kind, Initializer::Kind::zeros);
  EXPECT_FALSE(find_constant_initializer(std::vector{1.0F, 0.0F}));
}

}  // namespace
}  // namespace lockstep
