#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lockstep/error.h"
#include "lockstep/optimizer.h"
#include "support/expect_error.h"

namespace lockstep {
namespace {

TEST(Sgd, PartsGiveTheBitsOfTheWhole) {
  const Optimizer sgd({.name = "sgd", .momentum = 0.9, .weight_decay = 1e-4});
  ASSERT_EQ(sgd.states(), std::vector<std::string>{"momentum"});
  const auto run = [&](std::size_t part) {
    std::vector<float> p(1000);
    std::vector<float> g(1000);
    std::vector<float> v(1000);
    for (std::size_t i = 0; i < p.size(); ++i) {
      p[i] = std::sin(static_cast<float>(i));
      g[i] = std::cos(static_cast<float>(3 * i));
      v[i] = std::sin(static_cast<float>(7 * i));
    }
    for (std::size_t i = 0; i < p.size(); i += part) {
      const std::size_t n = std::min(part, p.size() - i);
      const std::vector<std::span<float>> states{std::span(v).subspan(i, n)};
      sgd.update(std::span(p).subspan(i, n), std::span(g).subspan(i, n), states,
                 {.gradient_scale = 1.0F / 3.0F, .learning_rate = 0.3F});
    }
    return p;
  };
  EXPECT_EQ(run(1000), run(1));
  EXPECT_EQ(run(1000), run(37));
}

TEST(Optimizers, RefuseArraysOfOtherLengths) {
  std::vector<float> ten(10), three(3);
  const auto refused = [&](const char* name, std::span<float> gradients,
                           const std::vector<std::span<float>>& states, const std::string& message) {
    const Optimizer optimizer({.name = name});
    expect_error(Category::usage, {message}, [&] { optimizer.prepare(ten, gradients, states, {}); });
    expect_error(Category::usage, {message}, [&] { optimizer.update(ten, gradients, states, {}); });
  };
  for (const char* name : {"adamw", "lamb"}) {
    refused(name, ten, {}, "0 states given to an optimizer that has 2");
    refused(name, ten, {ten}, "1 state given to an optimizer that has 2");
    refused(name, ten, {ten, ten, ten}, "3 states given to an optimizer that has 2");
    refused(name, ten, {ten, three}, "an array of 3 floats was given to an update of 10");
  }
  for (const char* name : {"lars", "sgd"}) {
    refused(name, ten, {ten}, "1 state given to an optimizer that has 0");
  }
  for (const char* name : {"adamw", "lamb", "lars", "sgd"}) {
    refused(name, three, {ten, ten}, "an array of 3 floats was given to an update of 10");
  }
}

TEST(Optimizers, RefuseImpossibleOptionsAndUnknownNames) {
  EXPECT_THROW(Optimizer({.name = "sgd", .momentum = 1.0}), Error);
  EXPECT_THROW(Optimizer({.name = "sgd", .nesterov = true}), Error);
  EXPECT_THROW(Optimizer({.name = "adamw", .momentum = 0.9}), Error);
  EXPECT_THROW(Optimizer({.name = "adamw", .beta2 = 1.0}), Error);
  EXPECT_THROW(Optimizer({.name = "adamw", .beta2 = 0.99999999}), Error);  // rounds to 1 in float
  EXPECT_THROW(Optimizer({.name = "adamw", .eps = -1.0}), Error);
  EXPECT_THROW(Optimizer({.name = "sgd", .beta1 = 0.5}), Error);
  EXPECT_THROW(Optimizer({.name = "lamb", .momentum = 0.5}), Error);
  EXPECT_THROW(Optimizer({.name = "lars", .trust_coefficient = -1.0}), Error);
  EXPECT_THROW(Optimizer({.name = "sgd", .clip_grad = std::numeric_limits<double>::infinity()}), Error);
  EXPECT_THROW(Optimizer({.name = "sgd", .weight_decay = -1.0}), Error);
  EXPECT_THROW(Optimizer({.name = "sgd", .weight_decay = std::numeric_limits<double>::quiet_NaN()}), Error);
  expect_error(Category::usage, {"optimizer: 'sdg' is not one of adamw, lamb, lars, sgd; did you mean sgd?"},
               [] { const Optimizer unknown({.name = "sdg"}); });
}

}  // namespace
}  // namespace lockstep
