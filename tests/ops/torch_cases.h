#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

#include "lockstep/model_file.h"
#include "ops/op_case.h"
#include "ops/op_inputs.h"

/// Operations as PyTorch computes them (bench/peers/make_op_references.py).
namespace lockstep::test {

/// Reads the file from the folder TEST_DATA if set (for machines without the source tree), else from the
/// source tree.
inline const ModelFile& torch_references() {
  const char* const folder = std::getenv("TEST_DATA");
  static const ModelFile file = ModelFile::read(std::string(folder != nullptr ? folder : LOCKSTEP_TEST_DATA) +
                                                "/ops/references.safetensors");
  return file;
}

inline std::vector<double> stored_by_torch(const std::string& name) {
  for (const TensorInfo& tensor : torch_references().tensors()) {
    if (tensor.name == name) {
      const auto values = torch_references().floats(name, tensor.shape);
      return {values.begin(), values.end()};
    }
  }
  ADD_FAILURE() << "no tensor " << name;
  return {};
}

constexpr int torch_samples = 3;
constexpr double torch_tolerance = 4e-6;

inline std::vector<OpCase> torch_cases() {
  return {conv_case("conv", {2, 7, 9}, 5, {.kernel = 3}),
          conv_case("conv_pool", {2, 8, 8}, 5, {.kernel = 3, .relu = true, .pool = 2}),
          conv_case("conv_pool5", {3, 8, 8}, 4, {.kernel = 5, .relu = true, .pool = 2}),
          conv_case("conv_padded", {3, 6, 5}, 4, {.kernel = 3, .padding = 1, .relu = true}),
          conv_case("conv_strided", {2, 9, 8}, 3, {.kernel = 3, .stride = 2, .padding = 1, .relu = true}),
          conv_case("conv_one", {4, 4, 4}, 3, {.kernel = 1}),
          conv_case("conv_seven", {1, 14, 14}, 2, {.kernel = 7, .stride = 2, .padding = 3, .relu = true}),
          simple_case("linear", Linear{.features = 7}, {{19, 1, 1}}),
          simple_case("linear_relu", Linear{.features = 10}, {{24, 1, 1}}, true),
          simple_case("group_norm", GroupNorm{.groups = 3}, {{12, 5, 7}}),
          norm_case("batch_norm", {11, 9, 8}, {.relu = true})};
}

inline OpInputs torch_inputs(const OpCase& op_case) {
  OpInputs values;
  values.inputs[0] = Tensor(torch_samples, op_case.inputs[0]);
  values.inputs[0].values = stored_by_torch(op_case.name + ".input");
  values.parameters = {stored_by_torch(op_case.name + ".weight"), stored_by_torch(op_case.name + ".bias")};
  if (std::holds_alternative<BatchNorm2d>(op_case.node.operation)) {
    for (std::size_t k : {2U, 3U}) values.parameters[k].resize(values.parameters[0].size());
  }
  values.grad_output = Tensor(torch_samples, op_case.node.shape);
  values.grad_output.values = stored_by_torch(op_case.name + ".grad_output");
  return values;
}

/// Results, including the statistics that batch norm observed.
inline OpValues torch_values(const OpCase& op_case) {
  OpValues values{.output = Tensor(torch_samples, op_case.node.shape)};
  values.output.values = stored_by_torch(op_case.name + ".output");
  values.grad_inputs[0].values = stored_by_torch(op_case.name + ".grad_input");
  values.grad_parameters[0] = stored_by_torch(op_case.name + ".grad_weight");
  values.grad_parameters[1] = stored_by_torch(op_case.name + ".grad_bias");
  if (std::holds_alternative<BatchNorm2d>(op_case.node.operation)) {
    values.grad_parameters[2] = stored_by_torch(op_case.name + ".running_mean");
    values.grad_parameters[3] = stored_by_torch(op_case.name + ".running_var");
    for (const std::size_t k : {2U, 3U}) {
      for (double& value : values.grad_parameters[k]) value *= torch_samples;
    }
  }
  return values;
}

}  // namespace lockstep::test
