// The table of operations on the CUDA backend.
#include <gtest/gtest.h>

#include "run_cuda_op.h"

namespace lockstep::testing {
namespace {

struct TypeCase {
  cuda::Type type;
  const char* name;
  double tolerance;  ///< largest difference over the largest value
};

/// Types to test. bf16 has 8 significant bits, and results of two kernels are rounded twice.
constexpr TypeCase types[] = {{cuda::Type::fp32, "fp32", 1.5e-5}, {cuda::Type::bf16, "bf16", 1.2e-2}};

/// Inputs that the type represents exactly, including parameters other than batch norm's.
OpInputs inputs_for(const OpCase& op_case, int samples, cuda::Type type) {
  OpInputs values = random_inputs(op_case, samples);
  for (Tensor& tensor : values.inputs) round_to(type, tensor.values);
  round_to(type, values.grad_output.values);
  if (std::holds_alternative<BatchNorm2d>(op_case.node.operation)) return values;
  for (std::vector<double>& parameter : values.parameters) round_to(type, parameter);
  return values;
}

void expect_tensor(const PaddedTensor& actual, const Tensor& expected, double tolerance,
                   const std::string& what) {
  expect_near(actual.values().values, expected.values, tolerance, what);
  EXPECT_TRUE(actual.padding_is_zero()) << what;
  EXPECT_TRUE(actual.end_intact()) << what;
}

void expect_parameter(const std::vector<float>& actual, const std::vector<double>& expected, double tolerance,
                      const std::string& what) {
  ASSERT_GE(actual.size(), expected.size()) << what;
  const auto end = actual.begin() + static_cast<std::ptrdiff_t>(expected.size());
  expect_near({actual.begin(), end}, expected, tolerance, what);
  EXPECT_TRUE(std::all_of(end, actual.end(), [](float value) { return value == 0.0F; }))
      << what << ": the gap after it";
}

void expect_reference(const OpCase& op_case, int samples, const TypeCase& type) {
  const OpInputs values = inputs_for(op_case, samples, type.type);
  const Expected expected(op_case, values);
  const CudaOpResults results = run_cuda_op(op_case, values, type.type);
  const std::string where = std::string(type.name) + ", " + std::to_string(samples) + " samples, ";
  expect_tensor(results.output, expected.output, type.tolerance, where + "output");
  for (std::size_t k = 0; op_case.input_gradient && k < max_inputs; ++k) {
    expect_tensor(results.grad_inputs[k], expected.grad_inputs[k], type.tolerance,
                  where + "gradient of input " + std::to_string(k));
  }
  for (std::size_t k = 0; k < max_parameters; ++k) {
    expect_parameter(results.grad_parameters[k], expected.grad_parameters[k], type.tolerance,
                     where + "gradient of parameter " + std::to_string(k));
  }
}

class CudaOps : public ::testing::TestWithParam<OpCase> {};

TEST_P(CudaOps, EqualReference) {
  for (const TypeCase& type : types) {
    for (const int samples : {1, 5}) expect_reference(GetParam(), samples, type);
  }
}

/// Sizes at the limits of the batch norm's tiles: one, two and more packs, groups that are not full, several
/// chunks, a chunk of few pixels, single values.
std::vector<OpCase> batch_norm_cases() {
  return {
      norm_case("OneValue", {1, 1, 1}, {.relu = true}),
      norm_case("Pixels", {9, 1, 1}, {.add = true}),
      norm_case("OneChannel", {1, 26, 27}, {.relu = true}),
      norm_case("TwoPacks", {16, 13, 9}, {.relu6 = true}),
      norm_case("ThreePacks", {20, 12, 13}, {.add = true, .relu = true}),
      norm_case("FivePacks", {40, 20, 11}, {.add = true, .relu6 = true}),
      norm_case("ManyChannels", {1030, 2, 3}, {.relu = true}),
      norm_case("ManyChunks", {3, 61, 60}, {.add = true}),
  };
}

INSTANTIATE_TEST_SUITE_P(BatchNorm, CudaOps, ::testing::ValuesIn(batch_norm_cases()),
                         [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(Table, CudaOps, ::testing::ValuesIn(op_cases()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace lockstep::testing
