#include <gtest/gtest.h>

#include "run_loss.h"
#include "run_op.h"
#include "torch_cases.h"

/// Compares operations with results of PyTorch (bench/peers/make_op_references.py).
namespace lockstep::testing {
namespace {

class Torch : public ::testing::TestWithParam<OpCase> {};

TEST_P(Torch, AgreesOnEveryLevel) {
  const OpCase& op_case = GetParam();
  const OpInputs values = torch_inputs(op_case);
  for (const cpu::Level level : cpu::available_levels()) {
    const OpResults results = run_op(op_case, values, level);
    expect_as_torch(from_lanes(results.output, torch_samples, op_case.node.shape).values,
                    op_case.name + ".output");
    expect_as_torch(from_lanes(results.grad_inputs[0], torch_samples, op_case.inputs[0]).values,
                    op_case.name + ".grad_input");
    std::array<std::vector<double>, max_parameters> gradients;
    for (std::size_t k = 0; k < max_parameters; ++k) gradients[k] = values_of(results.grad_parameters[k]);
    expect_parameters_as_torch(op_case, gradients);
  }
}

INSTANTIATE_TEST_SUITE_P(Stored, Torch, ::testing::ValuesIn(torch_cases()),
                         [](const auto& row) { return row.param.name; });

TEST(TorchLoss, AgreesOnEveryLevel) {
  const std::vector<double> labels = stored_by_torch("loss.labels");
  LossCase loss_case{Tensor(static_cast<int>(labels.size()), {10, 1, 1}), {labels.begin(), labels.end()}};
  loss_case.logits.values = stored_by_torch("loss.logits");
  for (const cpu::Level level : cpu::available_levels()) {
    const LossResults results = run_loss(loss_case, level);
    expect_as_torch({results.result.loss}, "loss.loss");
    expect_as_torch(from_lanes(results.grad, loss_case.logits.samples, loss_case.logits.shape).values,
                    "loss.grad");
  }
}

}  // namespace
}  // namespace lockstep::testing
