#pragma once

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "ops/cuda/op.h"
#include "ops/cuda/padded_tensor.h"
#include "ops/op_inputs.h"

namespace lockstep::test {

/// Parameters laid out as in an arena: followed by zeros up to a multiple of 16 elements.
inline std::vector<float> in_arena(const std::vector<double>& values) {
  std::vector<float> floats(values.begin(), values.end());
  floats.resize((values.size() + 15) / 16 * 16, 0.0F);
  return floats;
}

/// Runs one operation in separately allocated memory. `given`: further OpMemory members that the operation
/// needs. The test fails if the operation writes past its memory, or writes anything but zeros between
/// parameters or into padding.
class CudaOpRun {
 public:
  CudaOpRun(const OpCase& op_case, const OpInputs& values, cuda::Type type, int position,
            const cuda::OpMemory& given)
      : case_(op_case),
        type_(type),
        samples_(values.inputs[0].samples),
        op_(plan(position)),
        prepared_(op_.prepared_bytes),
        saved_(op_.saved_bytes),
        left_(op_.left_bytes),
        scratch_(op_.scratch_bytes),
        output_(type, samples_, op_case.node.shape),
        grad_output_(type, values.grad_output),
        memory_(given) {
    memory_.output = output_.data();
    memory_.prepared = prepared_.data();
    memory_.saved = saved_.data();
    memory_.left = left_.data();
    memory_.scratch = scratch_.data();
    for (std::size_t k = 0; k < max_inputs; ++k) {
      inputs_[k] = PaddedTensor(type, values.inputs[k]);
      memory_.inputs[k] = inputs_[k].data();
    }
    for (std::size_t k = 0; k < max_parameters; ++k) add_parameter(k, values.parameters[k]);
  }

  OpValues run() {
    run_on_device([&](cuda::StreamHandle stream) {
      memory_.stream = stream;
      cuda::WeightPadding padding(stream, type_);
      memory_.padding = &padding;
      if (op_.prepare) op_.prepare(memory_);
      padding.run();
      op_.forward(memory_);
    });
    hide_what_backward_does_not_read();
    memory_.grad_output = grad_output_.data();
    if (case_.parameter_sizes() == std::array<std::size_t, max_parameters>{}) {
      run_on_device([&](cuda::StreamHandle stream) {  // without inputs' gradients, which nobody reads
        memory_.stream = stream;
        op_.backward(memory_);
      });
    }
    for (std::size_t k = 0; k < max_inputs; ++k) {
      if (!case_.input_gradient || case_.inputs[k].channels == 0) continue;
      grad_inputs_[k] = PaddedTensor(type_, samples_, case_.inputs[k]);
      memory_.grad_inputs[k] = grad_inputs_[k].data();
    }
    run_on_device([&](cuda::StreamHandle stream) {
      memory_.stream = stream;
      cuda::GradientFinish finish(stream, type_);
      memory_.finish = &finish;
      op_.backward(memory_);
      finish.run();
    });
    for (const DeviceMemory* each : {&prepared_, &saved_, &left_, &scratch_}) check_end(*each);
    return results();
  }

 private:
  cuda::Op plan(int position) const {
    return cuda::plan_op({.node = case_.node,
                          .inputs = case_.inputs,
                          .samples = samples_,
                          .training = true,
                          .input_gradient = case_.input_gradient,
                          .type = type_,
                          .dnn = dnn_under_test(),
                          .position = position});
  }

  void add_parameter(std::size_t k, const std::vector<double>& values) {
    const std::vector<float> floats = in_arena(values);
    parameters_[k] = on_device(floats);
    memory_.parameters[k] = parameters_[k].floats();
    std::vector<float> gradient(floats.size(), 0.0F);
    std::fill_n(gradient.begin(), values.size(), std::numeric_limits<float>::quiet_NaN());
    grad_parameters_[k] = on_device(gradient);
    memory_.grad_parameters[k] = grad_parameters_[k].floats();
  }

  void hide_what_backward_does_not_read() {
    scratch_ = DeviceMemory(op_.scratch_bytes);
    memory_.scratch = scratch_.data();
    if (!op_.backward_reads_output) {
      hidden_output_ = PaddedTensor(type_, samples_, case_.node.shape);
      memory_.output = hidden_output_.data();
    }
    for (std::size_t k = op_.backward_reads_inputs; k < max_inputs; ++k) {
      inputs_[k] = PaddedTensor(type_, case_.inputs[k].channels > 0 ? samples_ : 0, case_.inputs[k]);
      memory_.inputs[k] = inputs_[k].data();
    }
  }

  template <class Memory>
  void check_end(const Memory& memory) const {
    if (!memory.end_intact()) throw std::logic_error(case_.name + " wrote past its memory");
  }

  Tensor values_of(const PaddedTensor& tensor) const {
    check_end(tensor);
    if (!tensor.padding_is_zero()) throw std::logic_error(case_.name + " wrote into padding");
    return tensor.values();
  }

  OpValues results() const {
    OpValues results{.output = values_of(output_)};
    for (std::size_t k = 0; k < max_inputs; ++k) results.grad_inputs[k] = values_of(grad_inputs_[k]);
    for (std::size_t k = 0; k < max_parameters; ++k) {
      check_end(grad_parameters_[k]);
      const std::vector<float> padded = grad_parameters_[k].fetch<float>();
      const auto end = padded.begin() + static_cast<std::ptrdiff_t>(case_.parameter_sizes()[k]);
      if (std::any_of(end, padded.end(), [](float value) { return value != 0.0F; })) {
        throw std::logic_error(case_.name + " wrote behind parameter " + std::to_string(k));
      }
      results.grad_parameters[k].assign(padded.begin(), end);
    }
    return results;
  }

  const OpCase& case_;
  cuda::Type type_;
  int samples_;
  cuda::Op op_;
  DeviceMemory prepared_, saved_, left_, scratch_;
  PaddedTensor output_, grad_output_, hidden_output_;
  std::array<PaddedTensor, max_inputs> inputs_, grad_inputs_;
  std::array<DeviceMemory, max_parameters> parameters_, grad_parameters_;
  cuda::OpMemory memory_;
};

inline OpValues run_cuda_op(const OpCase& op_case, const OpInputs& values, cuda::Type type, int position = 0,
                            const cuda::OpMemory& given = {}) {
  return CudaOpRun(op_case, values, type, position, given).run();
}

}  // namespace lockstep::test
