#pragma once

#include <array>
#include <vector>

#include "graph/graph.h"
#include "tensor.h"

/// Every operation in double precision, written to be read. Its gradients are checked by finite differences
/// in reference_test.cpp.
namespace lockstep::testing {

using Parameters = std::array<std::vector<double>, 2>;

/// Calls visit(sample, output channel, row, column, input channel, input row, input column, weight index)
/// for every product of a convolution that does not read padding.
template <class Visit>
void for_each_product(const Conv2d& options, const Shape& input, const Tensor& output, const Visit& visit) {
  const int kernel = options.kernel;
  for (int n = 0; n < output.samples; ++n) {
    for (int o = 0; o < output.shape.channels; ++o) {
      for (int h = 0; h < output.shape.height; ++h) {
        for (int w = 0; w < output.shape.width; ++w) {
          for (int c = 0; c < input.channels; ++c) {
            for (int k = 0; k < kernel * kernel; ++k) {
              const int row = h * options.stride + k / kernel - options.padding;
              const int column = w * options.stride + k % kernel - options.padding;
              if (row >= 0 && row < input.height && column >= 0 && column < input.width) {
                visit(n, o, h, w, c, row, column,
                      static_cast<std::size_t>((o * input.channels + c) * kernel * kernel + k));
              }
            }
          }
        }
      }
    }
  }
}

/// One operation without its epilogue; `output` has its shape.
inline void apply(const Operation& operation, const std::array<Tensor, 2>& inputs,
                  const Parameters& parameters, Tensor& output) {
  const Tensor& x = inputs[0];
  if (const auto* conv = std::get_if<Conv2d>(&operation)) {
    for (std::size_t i = 0; i < output.values.size(); ++i) {
      const std::size_t plane = static_cast<std::size_t>(output.shape.height * output.shape.width);
      output.values[i] = parameters[1][i / plane % static_cast<std::size_t>(output.shape.channels)];
    }
    for_each_product(*conv, x.shape, output,
                     [&](int n, int o, int h, int w, int c, int r, int q, std::size_t k) {
                       output.at(n, o, h, w) += x.at(n, c, r, q) * parameters[0][k];
                     });
  } else if (std::holds_alternative<Linear>(operation)) {
    const std::size_t features = x.shape.size();
    const auto outputs = static_cast<std::size_t>(output.shape.channels);
    for (std::size_t i = 0; i < output.values.size(); ++i) {
      output.values[i] = parameters[1][i % outputs];
      for (std::size_t k = 0; k < features; ++k) {
        output.values[i] += x.values[i / outputs * features + k] * parameters[0][i % outputs * features + k];
      }
    }
  } else if (std::holds_alternative<Relu>(operation)) {
    for (std::size_t i = 0; i < output.values.size(); ++i) {
      output.values[i] = x.values[i] <= 0 ? 0 : x.values[i];
    }
  } else if (const auto* pool = std::get_if<AvgPool2d>(&operation)) {
    const int stride = pool->stride == 0 ? pool->kernel : pool->stride;
    for (int n = 0; n < output.samples; ++n) {
      for (int c = 0; c < output.shape.channels; ++c) {
        for (int h = 0; h < output.shape.height; ++h) {
          for (int w = 0; w < output.shape.width; ++w) {
            double sum = 0;
            for (int k = 0; k < pool->kernel * pool->kernel; ++k) {
              sum += x.at(n, c, h * stride + k / pool->kernel, w * stride + k % pool->kernel);
            }
            output.at(n, c, h, w) = sum / (pool->kernel * pool->kernel);
          }
        }
      }
    }
  } else if (std::holds_alternative<Flatten>(operation)) {
    output.values = x.values;
  } else if (std::holds_alternative<Add>(operation)) {
    for (std::size_t i = 0; i < output.values.size(); ++i) {
      output.values[i] = x.values[i] + inputs[1].values[i];
    }
  }
}

/// Gradients of inputs and parameters from the gradient of the output; all start as zeros.
inline void apply_backward(const Operation& operation, const std::array<Tensor, 2>& inputs,
                           const Parameters& parameters, const Tensor& grad,
                           std::array<Tensor, 2>& grad_inputs, Parameters& grad_parameters) {
  const Tensor& x = inputs[0];
  Tensor& dx = grad_inputs[0];
  if (const auto* conv = std::get_if<Conv2d>(&operation)) {
    const std::size_t plane = static_cast<std::size_t>(grad.shape.height * grad.shape.width);
    for (std::size_t i = 0; i < grad.values.size(); ++i) {
      grad_parameters[1][i / plane % static_cast<std::size_t>(grad.shape.channels)] += grad.values[i];
    }
    for_each_product(*conv, x.shape, grad,
                     [&](int n, int o, int h, int w, int c, int r, int q, std::size_t k) {
                       dx.at(n, c, r, q) += grad.at(n, o, h, w) * parameters[0][k];
                       grad_parameters[0][k] += grad.at(n, o, h, w) * x.at(n, c, r, q);
                     });
  } else if (std::holds_alternative<Linear>(operation)) {
    const std::size_t features = x.shape.size();
    const auto outputs = static_cast<std::size_t>(grad.shape.channels);
    for (std::size_t i = 0; i < grad.values.size(); ++i) {
      grad_parameters[1][i % outputs] += grad.values[i];
      for (std::size_t k = 0; k < features; ++k) {
        const std::size_t input = i / outputs * features + k;
        const std::size_t weight = i % outputs * features + k;
        dx.values[input] += grad.values[i] * parameters[0][weight];
        grad_parameters[0][weight] += grad.values[i] * x.values[input];
      }
    }
  } else if (std::holds_alternative<Relu>(operation)) {
    for (std::size_t i = 0; i < grad.values.size(); ++i) {
      dx.values[i] = x.values[i] <= 0 ? 0 : grad.values[i];
    }
  } else if (const auto* pool = std::get_if<AvgPool2d>(&operation)) {
    const int stride = pool->stride == 0 ? pool->kernel : pool->stride;
    for (int n = 0; n < grad.samples; ++n) {
      for (int c = 0; c < grad.shape.channels; ++c) {
        for (int h = 0; h < grad.shape.height; ++h) {
          for (int w = 0; w < grad.shape.width; ++w) {
            for (int k = 0; k < pool->kernel * pool->kernel; ++k) {
              dx.at(n, c, h * stride + k / pool->kernel, w * stride + k % pool->kernel) +=
                  grad.at(n, c, h, w) / (pool->kernel * pool->kernel);
            }
          }
        }
      }
    }
  } else if (std::holds_alternative<Flatten>(operation)) {
    dx.values = grad.values;
  } else if (std::holds_alternative<Add>(operation)) {
    dx.values = grad.values;
    grad_inputs[1].values = grad.values;
  }
}

/// A node with its epilogue: the operation, then ReLU, then pooling.
struct Reference {
  std::vector<Operation> stages;
  std::vector<std::array<Tensor, 2>> stage_inputs;
  Tensor output;

  /// Runs forward and keeps what backward needs.
  Reference(const GraphNode& node, const std::array<Tensor, 2>& inputs, const Parameters& parameters) {
    const int pool = node.epilogue.pool;
    Shape shape = node.shape;
    if (pool > 0) {
      shape = {shape.channels, shape.height * pool, shape.width * pool};
    }
    const auto run = [&](const Operation& operation, const std::array<Tensor, 2>& from, Shape to) {
      stages.push_back(operation);
      stage_inputs.push_back(from);
      output = Tensor(inputs[0].samples, to);
      apply(operation, from, parameters, output);
    };
    run(node.operation, inputs, shape);
    if (node.epilogue.relu) {
      run(Relu{}, {output, Tensor()}, shape);
    }
    if (pool > 0) {
      run(AvgPool2d{.kernel = pool}, {output, Tensor()}, node.shape);
    }
  }

  void backward(const Parameters& parameters, const Tensor& grad_output, std::array<Tensor, 2>& grad_inputs,
                Parameters& grad_parameters) const {
    Tensor grad = grad_output;
    for (std::size_t k = 0; k < 2; ++k) {
      grad_parameters[k].assign(parameters[k].size(), 0.0);
    }
    for (std::size_t i = stages.size(); i-- > 0;) {
      for (std::size_t k = 0; k < 2; ++k) {
        grad_inputs[k] = Tensor(stage_inputs[i][k].samples, stage_inputs[i][k].shape);
      }
      apply_backward(stages[i], stage_inputs[i], parameters, grad, grad_inputs, grad_parameters);
      grad = grad_inputs[0];
    }
  }
};

}  // namespace lockstep::testing
