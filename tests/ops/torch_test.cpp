#include <gtest/gtest.h>

#include "lockstep/model_file.h"
#include "run_loss.h"
#include "run_op.h"

/// Compares operations with results of PyTorch (bench/peers/make_op_references.py).
namespace lockstep::testing {
namespace {

constexpr int samples = 3;

const ModelFile& references() {
  static const ModelFile file = ModelFile::read(LOCKSTEP_TEST_DATA "/ops/references.safetensors");
  return file;
}

std::vector<double> stored(const std::string& name) {
  for (const TensorInfo& tensor : references().tensors()) {
    if (tensor.name == name) {
      const auto values = references().floats(name, tensor.shape);
      return {values.begin(), values.end()};
    }
  }
  ADD_FAILURE() << "no tensor " << name;
  return {};
}

void expect_stored(const std::vector<double>& actual, const std::string& name) {
  expect_near(actual, stored(name), 4e-6, name);
}

class Torch : public ::testing::TestWithParam<OpCase> {};

TEST_P(Torch, AgreesOnEveryLevel) {
  const OpCase& op_case = GetParam();
  OpInputs values;
  values.inputs[0] = Tensor(samples, op_case.inputs[0]);
  values.inputs[0].values = stored(op_case.name + ".input");
  values.parameters = {stored(op_case.name + ".weight"), stored(op_case.name + ".bias")};
  values.grad_output = Tensor(samples, op_case.node.shape);
  values.grad_output.values = stored(op_case.name + ".grad_output");
  for (const cpu::Level level : cpu::available_levels()) {
    const OpResults results = run_op(op_case, values, level);
    expect_stored(from_lanes(results.output, samples, op_case.node.shape).values, op_case.name + ".output");
    expect_stored(from_lanes(results.grad_inputs[0], samples, op_case.inputs[0]).values,
                  op_case.name + ".grad_input");
    expect_stored(values_of(results.grad_parameters[0]), op_case.name + ".grad_weight");
    expect_stored(values_of(results.grad_parameters[1]), op_case.name + ".grad_bias");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Stored, Torch,
    ::testing::Values(
        conv_case("conv", {2, 7, 9}, 5, {.kernel = 3}),
        conv_case("conv_pool", {2, 8, 8}, 5, {.kernel = 3, .relu = true, .pool = 2}),
        conv_case("conv_pool5", {3, 8, 8}, 4, {.kernel = 5, .relu = true, .pool = 2}),
        conv_case("conv_padded", {3, 6, 5}, 4, {.kernel = 3, .padding = 1, .relu = true}),
        conv_case("conv_strided", {2, 9, 8}, 3, {.kernel = 3, .stride = 2, .padding = 1, .relu = true}),
        conv_case("conv_one", {4, 4, 4}, 3, {.kernel = 1}),
        conv_case("conv_seven", {1, 14, 14}, 2, {.kernel = 7, .stride = 2, .padding = 3, .relu = true}),
        simple_case("linear", Linear{}, {19, 1, 1}, {7, 1, 1}),
        simple_case("linear_relu", Linear{}, {24, 1, 1}, {10, 1, 1}, true),
        simple_case("group_norm", GroupNorm{.groups = 3}, {12, 5, 7}, {12, 5, 7})),
    [](const auto& row) { return row.param.name; });

TEST(TorchLoss, AgreesOnEveryLevel) {
  const std::vector<double> labels = stored("loss.labels");
  LossCase loss_case{Tensor(static_cast<int>(labels.size()), {10, 1, 1}), {labels.begin(), labels.end()}};
  loss_case.logits.values = stored("loss.logits");
  for (const cpu::Level level : cpu::available_levels()) {
    const LossResults results = run_loss(loss_case, level);
    expect_stored({results.result.loss}, "loss.loss");
    expect_stored(from_lanes(results.grad, loss_case.logits.samples, loss_case.logits.shape).values,
                  "loss.grad");
  }
}

}  // namespace
}  // namespace lockstep::testing
