// Operations with parameters, in fp32, against PyTorch.
#include "ops/torch_cases.h"
#include "run_cuda_op.h"

namespace lockstep::testing {
namespace {

class TorchOnCuda : public ::testing::TestWithParam<OpCase> {};

TEST_P(TorchOnCuda, Agrees) {
  const OpCase& op_case = GetParam();
  const CudaOpResults results = run_cuda_op(op_case, torch_inputs(op_case), cuda::Type::fp32);
  expect_as_torch(results.output.values().values, op_case.name + ".output");
  expect_as_torch(results.grad_inputs[0].values().values, op_case.name + ".grad_input");
  std::array<std::vector<double>, max_parameters> gradients;
  const auto sizes = op_case.parameter_sizes();
  for (std::size_t k = 0; k < max_parameters; ++k) {
    const std::vector<float>& padded = results.grad_parameters[k];
    gradients[k].assign(padded.begin(), padded.begin() + static_cast<std::ptrdiff_t>(sizes[k]));
  }
  expect_parameters_as_torch(op_case, gradients);
}

INSTANTIATE_TEST_SUITE_P(Stored, TorchOnCuda, ::testing::ValuesIn(torch_cases()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace lockstep::testing
