#pragma once

#include <array>
#include <stdexcept>
#include <utility>
#include <vector>

#include "ops/cpu/convolution/conv2d.h"
#include "ops/lanes.h"
#include "ops/op_inputs.h"

namespace lockstep::test {

struct OpResults {
  Lanes output;
  std::array<Lanes, max_inputs> grad_inputs;
  std::array<Lanes, max_parameters> grad_parameters;

  OpValues values(const OpCase& op_case, int samples) const {
    OpValues values{.output = from_lanes(output, samples, op_case.node.shape)};
    for (std::size_t k = 0; op_case.input_gradient && k < max_inputs; ++k) {
      values.grad_inputs[k] = from_lanes(grad_inputs[k], samples, op_case.inputs[k]);
    }
    for (std::size_t k = 0; k < max_parameters; ++k) {
      values.grad_parameters[k] = {grad_parameters[k].data(),
                                   grad_parameters[k].data() + grad_parameters[k].size()};
    }
    return values;
  }
};

/// Settings of run_op().
struct OpRun {
  int planned = 0;  ///< number of samples to plan for; 0: the number in the inputs
  int position = 0;
  cpu::AnyMemory memory = {};  ///< further members that the operation needs
  DataType dtype = DataType::fp32;
  bool stream = false;  ///< whether any result is written by streaming stores
  int unwanted = -1;    ///< input whose gradient is not computed
};

/// Runs forward and backward on one instruction set.
inline OpResults run_op(const OpCase& op_case, const OpInputs& values, cpu::Level level,
                        const OpRun& run = {}) {
  const int samples = values.inputs[0].samples;
  const DataType dtype = run.dtype;
  cpu::OpRequest request{.node = op_case.node,
                         .inputs = op_case.inputs,
                         .samples = run.planned == 0 ? samples : run.planned,
                         .training = true,
                         .input_gradient = op_case.input_gradient,
                         .level = level,
                         .position = run.position,
                         .dtype = dtype};
  if (run.stream) request.stream_above = {0, 0};
  cpu::Op op = op_case.winograd ? plan_winograd(request) : plan_op(request);
  const auto stored = [dtype](Lanes floats) {
    return dtype == DataType::bf16 ? packed(floats) : std::move(floats);
  };

  Lanes saved(op.saved_bytes / sizeof(float) + 1);
  Lanes scratch(op.scratch_bytes / sizeof(float) + 1);
  std::array<Lanes, max_inputs> inputs;
  std::array<std::vector<float>, max_parameters> parameters;
  const Lanes grad_output = stored(to_lanes(values.grad_output));
  OpResults results;
  results.output = Lanes(grad_output.size());

  cpu::AnyMemory memory = run.memory;
  memory.samples = samples;
  memory.output = results.output.data();
  memory.saved = reinterpret_cast<std::byte*>(saved.data());
  memory.scratch = reinterpret_cast<std::byte*>(scratch.data());
  for (std::size_t k = 0; k < max_inputs; ++k) {
    inputs[k] = stored(to_lanes(values.inputs[k]));
    results.grad_inputs[k] = Lanes(op_case.input_gradient ? inputs[k].size() : 0);
    memory.inputs[k] = inputs[k].data();
  }
  for (std::size_t k = 0; k < max_parameters; ++k) {
    parameters[k].assign(values.parameters[k].begin(), values.parameters[k].end());
    results.grad_parameters[k] = Lanes(parameters[k].size());
    if (!parameters[k].empty()) {
      memory.parameters[k] = parameters[k].data();
      memory.grad_parameters[k] = results.grad_parameters[k].data();
    }
  }
  op.forward(memory);
  Lanes output(op.backward_reads_output ? 0 : results.output.size());  // stays NaN: backward must not read it
  if (!op.backward_reads_output) {
    memory.output = output.data();
  }
  for (std::size_t k = 0; k < max_inputs; ++k) {
    if (k >= op.backward_reads_inputs) {
      inputs[k] = Lanes(inputs[k].size());
      memory.inputs[k] = inputs[k].data();
    }
    const bool wanted =
        op_case.input_gradient && op_case.inputs[k].channels > 0 && static_cast<int>(k) != run.unwanted;
    memory.grad_inputs[k] = wanted ? results.grad_inputs[k].data() : nullptr;
  }
  memory.grad_output = grad_output.data();
  op.backward(memory);
  if (!saved.end_intact() || !scratch.end_intact()) {
    throw std::logic_error(op_case.name + " wrote past its memory");
  }
  if (dtype == DataType::bf16) {
    results.output = unpacked(results.output);
    for (Lanes& gradient : results.grad_inputs) gradient = unpacked(gradient);
  }
  return results;
}

}  // namespace lockstep::test
