#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "device/cpu/pinning.h"
#include "ops/run_op.h"

namespace lockstep::test {
namespace {

void expect_clean(const OpResults& results, int samples, const std::string& where) {
  EXPECT_TRUE(results.output.end_intact()) << where;
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_TRUE(results.grad_parameters[k].end_intact()) << where;
    EXPECT_TRUE(results.grad_inputs[k].end_intact()) << where;
    const Lanes& grad = results.grad_inputs[k];
    const std::size_t group = grad.size() / static_cast<std::size_t>(cpu::groups_of(samples));
    for (std::size_t i = 0; i < grad.size(); ++i) {
      const std::size_t sample = i / std::max<std::size_t>(group, 1) * 16 + i % 16;
      if (sample >= static_cast<std::size_t>(samples)) {
        ASSERT_EQ(grad.data()[i], 0.0F) << where << ": gradient of a missing sample";
      }
    }
  }
}

void expect_same_bits(const OpResults& results, const OpResults& expected, const std::string& where) {
  EXPECT_TRUE(results.output.same_bits(expected.output)) << where << " output";
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_TRUE(results.grad_inputs[k].same_bits(expected.grad_inputs[k])) << where << " input " << k;
    EXPECT_TRUE(results.grad_parameters[k].same_bits(expected.grad_parameters[k]))
        << where << " parameter " << k;
  }
}

void round_to_bf16(std::vector<double>& values) {
  for (double& value : values) {
    value = static_cast<double>(to_float(from_float<Bfloat16>(static_cast<float>(value))));
  }
}

class Ops : public ::testing::TestWithParam<OpCase> {};

TEST_P(Ops, EqualReferenceOnEveryLevel) {
  for (const int samples : {1, 17}) {
    const OpInputs values = random_inputs(GetParam(), samples);
    const OpValues expected = reference_values(GetParam(), values);
    for (const cpu::Level level : cpu::available_levels()) {
      const std::string where = std::string(cpu::level_name(level)) + ", " + std::to_string(samples);
      const OpResults results = run_op(GetParam(), values, level);
      expect_near(GetParam(), results.values(GetParam(), samples), expected, GetParam().tolerance, where);
      expect_clean(results, samples, where);
    }
  }
}

/// Neither planning for more samples nor streaming stores change the bits.
TEST_P(Ops, SameBitsOnEveryLevelAndPlan) {
  for (const int samples : {1, 15, 16, 17, 31, 32, 33}) {
    const OpInputs values = random_inputs(GetParam(), samples, 7);
    const OpResults first = run_op(GetParam(), values, cpu::available_levels().front());
    for (const cpu::Level level : cpu::available_levels()) {
      const OpResults other = run_op(GetParam(), values, level, {.planned = 48, .stream = samples % 2 != 0});
      const std::string where = std::string(cpu::level_name(level)) + ", " + std::to_string(samples);
      expect_same_bits(other, first, where);
      expect_clean(other, samples, where);
    }
  }
}

TEST_P(Ops, GradientsDoNotDependOnWhichAreWanted) {
  const OpInputs values = random_inputs(GetParam(), 17, 11);
  for (const cpu::Level level : cpu::available_levels()) {
    const OpResults all = run_op(GetParam(), values, level);
    for (int unwanted = 0; unwanted < static_cast<int>(max_inputs); ++unwanted) {
      if (GetParam().inputs[static_cast<std::size_t>(unwanted)].channels == 0) continue;
      const OpResults some = run_op(GetParam(), values, level, {.unwanted = unwanted});
      for (std::size_t k = 0; k < max_inputs; ++k) {
        if (static_cast<int>(k) == unwanted) continue;
        EXPECT_TRUE(some.grad_inputs[k].same_bits(all.grad_inputs[k])) << unwanted << ", input " << k;
      }
      for (std::size_t k = 0; k < max_parameters; ++k) {
        EXPECT_TRUE(some.grad_parameters[k].same_bits(all.grad_parameters[k]))
            << unwanted << ", parameter " << k;
      }
    }
  }
}

/// Whether the convolution, in bf16, adds in the order of bf16_product.h.
bool multiplies_bf16(const OpCase& op_case) {
  return !op_case.winograd && cpu::plan_op({.node = op_case.node,
                                            .inputs = op_case.inputs,
                                            .samples = 1,
                                            .training = true,
                                            .input_gradient = true,
                                            .level = cpu::best_level(),
                                            .dtype = DataType::bf16})
                                  .multiplies_bf16;
}

void round_to_bf16(const OpCase& op_case, OpInputs& values) {
  for (Tensor& input : values.inputs) round_to_bf16(input.values);
  round_to_bf16(values.grad_output.values);
  const Operation& operation = op_case.node.operation;
  const bool has_products =
      std::holds_alternative<Conv2d>(operation) || std::holds_alternative<Linear>(operation);
  if (has_products) round_to_bf16(values.parameters[0]);
}

/// In bf16, an operation returns the fp32 results of the same inputs, rounded to bf16. Weights of
/// convolutions and linear layers are rounded first. Convolutions that multiply in bf16 are compared with a
/// scalar definition.
TEST_P(Ops, InBf16HaveTheDefinedBits) {
  const bool own_order = multiplies_bf16(GetParam());
  for (const int samples : {1, 17}) {
    const OpInputs unrounded = random_inputs(GetParam(), samples, 3);
    OpInputs values = unrounded;
    round_to_bf16(GetParam(), values);
    const cpu::Level lowest = cpu::available_levels().front();
    OpResults expected = run_op(GetParam(), values, lowest);
    expected.output = unpacked(packed(expected.output));
    for (Lanes& gradient : expected.grad_inputs) gradient = unpacked(packed(gradient));
    if (own_order) {
      OpValues defined = bf16_product_values(GetParam(), values);
      defined.grad_parameters[1] = expected.values(GetParam(), samples).grad_parameters[1];
      expected = run_op(GetParam(), unrounded, lowest, {.dtype = DataType::bf16});
      expect_near(GetParam(), expected.values(GetParam(), samples), defined, 0, std::to_string(samples));
    }
    for (const cpu::Level level : cpu::available_levels()) {
      const OpResults results =
          run_op(GetParam(), unrounded, level, {.planned = 48, .dtype = DataType::bf16, .stream = true});
      const std::string where = std::string(cpu::level_name(level)) + ", " + std::to_string(samples);
      expect_same_bits(results, expected, where);
      expect_clean(results, samples, where);
    }
  }
}

/// AMX always flushes denormals to zero; other instructions do so only on threads that enable it, as
/// executors do. Results of these values lie on both sides of 2^-126.
TEST_P(Ops, InBf16TheSameResultsAreTooSmall) {
  if (!multiplies_bf16(GetParam())) return;
  OpInputs values = random_inputs(GetParam(), 17, 5);
  for (std::vector<double>* tensor :
       {&values.inputs[0].values, &values.parameters[0], &values.grad_output.values}) {
    for (double& value : *tensor) value = std::ldexp(value, -62);
  }
  std::jthread([&] {
    flush_denormals_to_zero();
    const auto run = [&](cpu::Level level) {
      return run_op(GetParam(), values, level, {.dtype = DataType::bf16});
    };
    const OpResults expected = run(cpu::available_levels().front());
    const Lanes& gradient = expected.grad_parameters[0];
    const auto zeros = std::count(gradient.data(), gradient.data() + gradient.size(), 0.0F);
    EXPECT_GT(zeros, 0);
    EXPECT_LT(zeros, static_cast<std::ptrdiff_t>(gradient.size()));
    for (const cpu::Level level : cpu::available_levels()) {
      const OpResults results = run(level);
      EXPECT_TRUE(results.output.same_bits(expected.output)) << cpu::level_name(level);
      EXPECT_TRUE(results.grad_inputs[0].same_bits(expected.grad_inputs[0])) << cpu::level_name(level);
      EXPECT_TRUE(results.grad_parameters[0].same_bits(gradient)) << cpu::level_name(level);
    }
  });
}

TEST_P(Ops, NanReachesTheOutput) {
  for (const cpu::Level level : cpu::available_levels()) {
    OpInputs values = random_inputs(GetParam(), 3);
    const Shape& shape = GetParam().inputs[0];  // a whole channel, because some strides skip pixels
    std::fill_n(values.inputs[0].values.begin(), shape.height * shape.width,
                std::numeric_limits<double>::quiet_NaN());
    const OpResults results = run_op(GetParam(), values, level);
    const Tensor output = from_lanes(results.output, 3, GetParam().node.shape);
    EXPECT_TRUE(std::any_of(output.values.begin(), output.values.end(), [](double v) {
      return std::isnan(v);
    })) << cpu::level_name(level);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, Ops, ::testing::ValuesIn(op_cases()),
                         [](const auto& row) { return row.param.name; });

TEST(OpCases, HaveTheShapesThatPyTorchGives) {
  const auto shape_of = [](const Operation& operation, Shape input) {
    return simple_case("case", operation, {input}).node.shape;
  };
  EXPECT_EQ(shape_of(MaxPool2d{.kernel = 2, .stride = 2}, {3, 7, 6}), (Shape{3, 3, 3}));
  EXPECT_EQ(shape_of(MaxPool2d{.kernel = 2, .stride = 2, .ceil_mode = true}, {2, 5, 7}), (Shape{2, 3, 4}));
  EXPECT_EQ(shape_of(AvgPool2d{.kernel = 3, .stride = 2, .padding = 1, .ceil_mode = true}, {2, 8, 6}),
            (Shape{2, 5, 4}));
  EXPECT_EQ(shape_of(AvgPool2d{.kernel = 2, .stride = 3}, {2, 8, 9}), (Shape{2, 3, 3}));
  EXPECT_EQ(shape_of(AdaptiveAvgPool2d{.size = 4}, {2, 3, 2}), (Shape{2, 4, 4}));
}

/// Means of a constant image. A running sum in floats would be off by 0.1 %.
TEST(LargePlanes, LoseNoDigits) {
  constexpr double value = 201.0 / 255;
  const std::vector<std::pair<Operation, Shape>> large = {{AdaptiveAvgPool2d{}, {1, 512, 500}},
                                                          {AdaptiveAvgPool2d{}, {1, 1, 262144}},
                                                          {AdaptiveAvgPool2d{}, {1, 262144, 1}},
                                                          {BatchNorm2d{}, {1, 512, 500}},
                                                          {GroupNorm{.groups = 1}, {1, 512, 500}}};
  for (const auto& [operation, shape] : large) {
    const OpCase op_case = simple_case("LargePlane", operation, {shape});
    OpInputs values = random_inputs(op_case, 2);
    std::ranges::fill(values.inputs[0].values, value);
    std::ranges::fill(values.parameters[0], 1.0);
    std::ranges::fill(values.parameters[1], 0.0);
    for (const cpu::Level level : cpu::available_levels()) {
      const Tensor output = run_op(op_case, values, level).values(op_case, 2).output;
      const bool is_norm = !std::holds_alternative<AdaptiveAvgPool2d>(operation);  // divides by sqrt(0 + eps)
      const auto [least, most] = std::ranges::minmax(output.values);
      for (const double result : {least, most}) {
        EXPECT_NEAR(result, is_norm ? 0 : value, is_norm ? 4e-5 / std::sqrt(1e-5) : 4e-5)
            << cpu::level_name(level);
      }
    }
  }
}

TEST(Levels, AreNamed) {
  for (const cpu::Level level : cpu::available_levels()) {
    EXPECT_EQ(cpu::level_by_name(cpu::level_name(level)), level);
  }
  EXPECT_EQ(cpu::level_by_name("auto"), cpu::best_level());
  EXPECT_ANY_THROW(cpu::level_by_name("avx3"));
}

}  // namespace
}  // namespace lockstep::test
