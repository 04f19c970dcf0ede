#include <gtest/gtest.h>

#include "ops/run_loss.h"
#include "ops/run_op.h"
#include "ops/torch_cases.h"

/// Compares operations with results of PyTorch (bench/peers/make_op_references.py).
namespace lockstep::test {
namespace {

class Torch : public ::testing::TestWithParam<OpCase> {};

TEST_P(Torch, AgreesOnEveryLevel) {
  const OpCase& op_case = GetParam();
  const OpInputs values = torch_inputs(op_case);
  for (const cpu::Level level : cpu::available_levels()) {
    expect_near(op_case, run_op(op_case, values, level).values(op_case, torch_samples), torch_values(op_case),
                torch_tolerance, op_case.name);
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
    expect_near({results.result.loss}, stored_by_torch("loss.loss"), torch_tolerance, "loss");
    expect_near(from_lanes(results.grad, loss_case.logits.samples, loss_case.logits.shape).values,
                stored_by_torch("loss.grad"), torch_tolerance, "gradient of the loss");
  }
}

}  // namespace
}  // namespace lockstep::test
