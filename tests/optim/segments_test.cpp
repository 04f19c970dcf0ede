#include "optim/segments.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace lockstep {
namespace {

std::vector<Parameter> two_layers() {
  return {{"conv1.weight", {20, 3, 3, 3}, {}},
          {"conv1.bias", {20}, {}},
          {"bn1.weight", {20}, {}},
          {"bn1.bias", {20}, {}},
          {"bn1.running_mean", {20}, {}, 0.1},
          {"bn1.running_var", {20}, {}, 0.1},
          {"fc1.weight", {10, 20}, {}},
          {"fc1.bias", {10}, {}}};
}

std::vector<Segment> segments(const OptimizerOptions& options, bool layerwise = false) {
  return make_segments(two_layers(), layout_arena(two_layers()), options, layerwise);
}

std::vector<bool> frozen(const std::vector<std::string>& patterns) {
  return frozen_parameters(two_layers(), patterns);
}

TEST(Segments, DecayIsForAllUnlessFiltered) {
  for (const Segment& segment : segments({})) EXPECT_TRUE(segment.weight_decay);
  std::vector<bool> decays;
  for (const Segment& segment : segments({.filter_bias_and_bn = true})) {
    if (segment.kind == Segment::Kind::trained) decays.push_back(segment.weight_decay);
  }
  EXPECT_EQ(decays, (std::vector<bool>{true, false, true, false}));
}

TEST(Segments, OfALayerwiseRuleHoldOneAdaptingParameterEach) {
  std::vector<std::size_t> adapting;
  for (const Segment& segment : segments({}, true)) {
    if (segment.adapts) adapting.push_back(segment.parameter);
  }
  EXPECT_EQ(adapting, (std::vector<std::size_t>{0, 6}));
  adapting.clear();
  for (const Segment& segment : segments({.always_adapt = true}, true)) {
    if (segment.adapts) adapting.push_back(segment.parameter);
  }
  EXPECT_EQ(adapting, (std::vector<std::size_t>{0, 1, 2, 3, 6, 7}));
}

TEST(Freeze, TakesNamesLayersAndPatterns) {
  const auto count = [](const std::vector<bool>& found) {
    return std::count(found.begin(), found.end(), true);
  };
  EXPECT_EQ(frozen({"conv1.bias"}),
            (std::vector<bool>{false, true, false, false, false, false, false, false}));
  EXPECT_EQ(count(frozen({"bn1"})), 4);
  EXPECT_EQ(count(frozen({"*.bias"})), 3);
  EXPECT_EQ(count(frozen({"?n1"})), 4);
  EXPECT_EQ(count(frozen({"*running*", "fc1"})), 4);
  EXPECT_EQ(count(frozen({"*"})), 8);
  EXPECT_EQ(count(frozen({})), 0);
}

TEST(Freeze, RefusesWhatMatchesNothing) {
  expect_error(Category::usage, {"'conv2'", "did you mean 'conv1'?"}, [] { frozen({"fc1", "conv2"}); });
  expect_error(Category::usage, {"'fc1.weigth'", "'fc1.weight'"}, [] { frozen({"fc1.weigth"}); });
  expect_error(Category::usage, {"'fc'"}, [] { frozen({"fc"}); });  // needs a layer's full name or a pattern
  expect_error(Category::usage, {"every parameter is frozen"}, [] { segments({.freeze = {"*"}}); });
}

}  // namespace
}  // namespace lockstep
