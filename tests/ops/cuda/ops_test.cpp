// The table of operations on the CUDA backend. In fp32, operations with parameters are also compared with
// PyTorch.
#include <gtest/gtest.h>

#include "ops/cuda/run_cuda_op.h"
#include "ops/torch_cases.h"

namespace lockstep::test {
namespace {

struct TypeCase {
  cuda::Type type;
  const char* name;
  double tolerance;  ///< largest difference / largest value
};

/// Types to test. bf16 has 8 significant bits, and operations of two kernels round twice.
constexpr TypeCase types[] = {{cuda::Type::fp32, "fp32", 1.5e-5}, {cuda::Type::bf16, "bf16", 1.2e-2}};

/// Inputs, and parameters except those of batch norm, that the type represents exactly.
OpInputs inputs_for(const OpCase& op_case, int samples, cuda::Type type) {
  OpInputs values = random_inputs(op_case, samples);
  for (Tensor& tensor : values.inputs) round_to(type, tensor.values);
  round_to(type, values.grad_output.values);
  if (std::holds_alternative<BatchNorm2d>(op_case.node.operation)) return values;
  for (std::vector<double>& parameter : values.parameters) round_to(type, parameter);
  return values;
}

class CudaOps : public ::testing::TestWithParam<OpCase> {};

TEST_P(CudaOps, EqualReference) {
  for (const TypeCase& type : types) {
    for (const int samples : {1, 5}) {
      const OpInputs values = inputs_for(GetParam(), samples, type.type);
      expect_near(GetParam(), run_cuda_op(GetParam(), values, type.type),
                  reference_values(GetParam(), values), type.tolerance,
                  std::string(type.name) + ", " + std::to_string(samples) + " samples");
    }
  }
}

/// Sizes at the limits of batch norm's tiles: one, two and more packs, partial groups, several chunks, a
/// chunk of few pixels, single values.
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

class TorchOnCuda : public ::testing::TestWithParam<OpCase> {};

TEST_P(TorchOnCuda, Agrees) {
  expect_near(GetParam(), run_cuda_op(GetParam(), torch_inputs(GetParam()), cuda::Type::fp32),
              torch_values(GetParam()), torch_tolerance, GetParam().name);
}

INSTANTIATE_TEST_SUITE_P(Stored, TorchOnCuda, ::testing::ValuesIn(torch_cases()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace lockstep::test
