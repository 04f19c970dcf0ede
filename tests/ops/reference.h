#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "graph/graph.h"
#include "tensor.h"

/// Plain implementations of all operations in double precision. reference_test.cpp checks their gradients by
/// finite differences.
namespace lockstep::testing {

using Parameters = std::array<std::vector<double>, 4>;
using Tensors = std::array<Tensor, max_inputs>;

/// Calls visit(sample, output channel, row, column, input channel, input row, input column, weight index)
/// for every product of a convolution except those with padding.
template <class Visit>
void for_each_product(const Conv2d& options, const Shape& input, const Tensor& output, const Visit& visit) {
  const int kernel = options.kernel;
  const int inputs = input.channels / options.groups;  // that an output channel sees
  const int outputs = output.shape.channels / options.groups;
  for (int n = 0; n < output.samples; ++n) {
    for (int o = 0; o < output.shape.channels; ++o) {
      for (int h = 0; h < output.shape.height; ++h) {
        for (int w = 0; w < output.shape.width; ++w) {
          for (int c = 0; c < inputs; ++c) {
            for (int k = 0; k < kernel * kernel; ++k) {
              const int row = h * options.stride + k / kernel * options.dilation - options.padding;
              const int column = w * options.stride + k % kernel * options.dilation - options.padding;
              if (row >= 0 && row < input.height && column >= 0 && column < input.width) {
                visit(n, o, h, w, o / outputs * inputs + c, row, column,
                      static_cast<std::size_t>((o * inputs + c) * kernel * kernel + k));
              }
            }
          }
        }
      }
    }
  }
}

inline double activate(Activation::Kind kind, double x) {
  switch (kind) {
    case Activation::Kind::relu:
      return x <= 0 ? 0 : x;
    case Activation::Kind::relu6:
      return x <= 0 ? 0 : x > 6 ? 6 : x;
    case Activation::Kind::silu:
      return x / (1 + std::exp(-x));
    case Activation::Kind::gelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
  }
  return x;
}

inline double slope(Activation::Kind kind, double x) {
  const double sigmoid = 1 / (1 + std::exp(-x));
  switch (kind) {
    case Activation::Kind::relu:
      return x <= 0 ? 0 : 1;
    case Activation::Kind::relu6:
      return x <= 0 || x >= 6 ? 0 : 1;
    case Activation::Kind::silu:
      return sigmoid * (1 + x * (1 - sigmoid));
    case Activation::Kind::gelu:
      return 0.5 * std::erfc(-x / std::sqrt(2.0)) + x * std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
  }
  return 1;
}

/// Pixels of a window that are inside the image, and the divisor of an average.
struct PoolWindow {
  std::pair<int, int> rows, columns;  ///< [first, second)
  double count = 1;
};

inline bool is_pool(const Operation& operation) {
  return std::holds_alternative<MaxPool2d>(operation) || std::holds_alternative<AvgPool2d>(operation) ||
         std::holds_alternative<AdaptiveAvgPool2d>(operation);
}

inline PoolWindow window_of(const Operation& operation, Shape in, Shape out, int h, int w) {
  const auto clip = [](int first, int last, int size) {
    return std::pair{std::max(first, 0), std::min(last, size)};
  };
  if (std::holds_alternative<AdaptiveAvgPool2d>(operation)) {
    const auto range = [](int i, int size, int outputs) {
      return std::pair{i * size / outputs, ((i + 1) * size + outputs - 1) / outputs};
    };
    const auto rows = range(h, in.height, out.height);
    const auto columns = range(w, in.width, out.width);
    return {rows, columns, double((rows.second - rows.first) * (columns.second - columns.first))};
  }
  const auto slide = [&](const auto& pool, bool count_padding) {
    const int row = h * pool.stride - pool.padding;
    const int column = w * pool.stride - pool.padding;
    PoolWindow window{clip(row, row + pool.kernel, in.height), clip(column, column + pool.kernel, in.width)};
    const int rows = std::min(row + pool.kernel, in.height + pool.padding) - row;
    const int columns = std::min(column + pool.kernel, in.width + pool.padding) - column;
    window.count = count_padding ? rows * columns
                                 : (window.rows.second - window.rows.first) *
                                       (window.columns.second - window.columns.first);
    return window;
  };
  if (const auto* average = std::get_if<AvgPool2d>(&operation)) {
    return slide(*average, average->count_include_pad);
  }
  return slide(std::get<MaxPool2d>(operation), false);
}

template <class Visit>
void for_each_pixel(const PoolWindow& window, const Visit& visit) {
  for (int i = window.rows.first; i < window.rows.second; ++i) {
    for (int j = window.columns.first; j < window.columns.second; ++j) {
      visit(i, j);
    }
  }
}

/// Calls visit(sample, channel, row, column).
template <class Visit>
void for_each_index(const Tensor& tensor, const Visit& visit) {
  for (int n = 0; n < tensor.samples; ++n) {
    for (int c = 0; c < tensor.shape.channels; ++c) {
      for (int h = 0; h < tensor.shape.height; ++h) {
        for (int w = 0; w < tensor.shape.width; ++w) {
          visit(n, c, h, w);
        }
      }
    }
  }
}

/// Calls visit(input, channel of the output, sample, channel of the input, row, column).
template <class Visit>
void for_each_concatenated(const Tensors& inputs, const Visit& visit) {
  int first = 0;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    for_each_index(inputs[k], [&](int n, int c, int h, int w) { visit(k, first + c, n, c, h, w); });
    first += inputs[k].shape.channels;
  }
}

/// Mean and variance, which is divided by the number of values.
struct Moments {
  double mean = 0;
  double variance = 0;
};

inline double values_of_channel(const Tensor& x) {
  return static_cast<double>(x.samples) * x.shape.height * x.shape.width;
}

/// Moments of each channel over samples and pixels.
inline std::vector<Moments> moments_of(const Tensor& x) {
  std::vector<Moments> moments(static_cast<std::size_t>(x.shape.channels));
  const double count = values_of_channel(x);
  for_each_index(x, [&](int n, int c, int h, int w) {
    moments[static_cast<std::size_t>(c)].mean += x.at(n, c, h, w) / count;
  });
  for_each_index(x, [&](int n, int c, int h, int w) {
    Moments& m = moments[static_cast<std::size_t>(c)];
    m.variance += (x.at(n, c, h, w) - m.mean) * (x.at(n, c, h, w) - m.mean) / count;
  });
  return moments;
}

/// Gradients of batch norm. Those of running statistics are samples * the batch's value.
inline void norm_backward(const BatchNorm2d& norm, const Tensor& x, const Parameters& parameters,
                          const Tensor& grad, Tensor& dx, Parameters& grad_parameters) {
  const std::vector<Moments> moments = moments_of(x);
  const double count = values_of_channel(x);
  for_each_index(x, [&](int n, int c, int h, int w) {
    const auto channel = static_cast<std::size_t>(c);
    const Moments& m = moments[channel];
    const double distance = (x.at(n, c, h, w) - m.mean) / std::sqrt(m.variance + norm.eps);
    grad_parameters[0][channel] += grad.at(n, c, h, w) * distance;
    grad_parameters[1][channel] += grad.at(n, c, h, w);
    grad_parameters[2][channel] = x.samples * m.mean;
    grad_parameters[3][channel] = x.samples * m.variance * (count > 1 ? count / (count - 1) : 1);
  });
  for_each_index(x, [&](int n, int c, int h, int w) {
    const auto channel = static_cast<std::size_t>(c);
    const double inverse = 1 / std::sqrt(moments[channel].variance + norm.eps);
    const double distance = (x.at(n, c, h, w) - moments[channel].mean) * inverse;
    dx.at(n, c, h, w) = parameters[0][channel] * inverse *
                        (grad.at(n, c, h, w) - grad_parameters[1][channel] / count -
                         distance * grad_parameters[0][channel] / count);
  });
}

/// Moments of the channels [first, first + count) of one sample.
inline Moments moments_of(const Tensor& x, int sample, int first, int count) {
  Moments moments;
  const double values = static_cast<double>(count) * x.shape.height * x.shape.width;
  const auto for_each = [&](const auto& visit) {
    for (int c = first; c < first + count; ++c) {
      for (int h = 0; h < x.shape.height; ++h) {
        for (int w = 0; w < x.shape.width; ++w) visit(x.at(sample, c, h, w));
      }
    }
  };
  for_each([&](double value) { moments.mean += value / values; });
  for_each(
      [&](double value) { moments.variance += (value - moments.mean) * (value - moments.mean) / values; });
  return moments;
}

/// Calls visit(sample, channel, row, column, mean, 1 / deviation, index of the sample's group).
template <class Visit>
void for_each_normalized(const GroupNorm& norm, const Tensor& x, const Visit& visit) {
  const int channels = x.shape.channels / norm.groups;
  for (int n = 0; n < x.samples; ++n) {
    for (int group = 0; group < norm.groups; ++group) {
      const Moments m = moments_of(x, n, group * channels, channels);
      const double inverse = 1 / std::sqrt(m.variance + norm.eps);
      for (int c = group * channels; c < (group + 1) * channels; ++c) {
        for (int h = 0; h < x.shape.height; ++h) {
          for (int w = 0; w < x.shape.width; ++w) {
            visit(n, c, h, w, m.mean, inverse, static_cast<std::size_t>(n * norm.groups + group));
          }
        }
      }
    }
  }
}

inline void group_norm_backward(const GroupNorm& norm, const Tensor& x, const Parameters& parameters,
                                const Tensor& grad, Tensor& dx, Parameters& grad_parameters) {
  struct Sums {
    double grads = 0, products = 0;
  };
  std::vector<Sums> sums(static_cast<std::size_t>(x.samples * norm.groups));
  const double count = static_cast<double>(x.shape.size()) / norm.groups;
  for_each_normalized(norm, x,
                      [&](int n, int c, int h, int w, double mean, double inverse, std::size_t group) {
                        const auto channel = static_cast<std::size_t>(c);
                        const double normal = (x.at(n, c, h, w) - mean) * inverse;
                        grad_parameters[0][channel] += grad.at(n, c, h, w) * normal;
                        grad_parameters[1][channel] += grad.at(n, c, h, w);
                        sums[group].grads += grad.at(n, c, h, w) * parameters[0][channel] / count;
                        sums[group].products += grad.at(n, c, h, w) * parameters[0][channel] * normal / count;
                      });
  for_each_normalized(
      norm, x, [&](int n, int c, int h, int w, double mean, double inverse, std::size_t group) {
        const double normal = (x.at(n, c, h, w) - mean) * inverse;
        dx.at(n, c, h, w) = inverse * (grad.at(n, c, h, w) * parameters[0][static_cast<std::size_t>(c)] -
                                       sums[group].grads - normal * sums[group].products);
      });
}

/// Computes one operation without its epilogue. `output` has its shape.
inline void apply(const Operation& operation, const Tensors& inputs, const Parameters& parameters,
                  Tensor& output) {
  const Tensor& x = inputs[0];
  if (const auto* conv = std::get_if<Conv2d>(&operation)) {
    for (std::size_t i = 0; i < output.values.size(); ++i) {
      const std::size_t plane = static_cast<std::size_t>(output.shape.height * output.shape.width);
      const std::size_t channel = i / plane % static_cast<std::size_t>(output.shape.channels);
      output.values[i] = parameters[1].empty() ? 0.0 : parameters[1][channel];
    }
    for_each_product(*conv, x.shape, output,
                     [&](int n, int o, int h, int w, int c, int r, int q, std::size_t k) {
                       output.at(n, o, h, w) += x.at(n, c, r, q) * parameters[0][k];
                     });
  } else if (std::holds_alternative<Linear>(operation)) {
    const std::size_t features = x.shape.size();
    const auto outputs = static_cast<std::size_t>(output.shape.channels);
    for (std::size_t i = 0; i < output.values.size(); ++i) {
      output.values[i] = parameters[1].empty() ? 0.0 : parameters[1][i % outputs];
      for (std::size_t k = 0; k < features; ++k) {
        output.values[i] += x.values[i / outputs * features + k] * parameters[0][i % outputs * features + k];
      }
    }
  } else if (const auto* activation = std::get_if<Activation>(&operation)) {
    for (std::size_t i = 0; i < output.values.size(); ++i) {
      output.values[i] = activate(activation->kind, x.values[i]);
    }
  } else if (const auto* norm = std::get_if<BatchNorm2d>(&operation)) {
    const std::vector<Moments> moments = moments_of(x);
    for_each_index(x, [&](int n, int c, int h, int w) {
      const Moments& m = moments[static_cast<std::size_t>(c)];
      output.at(n, c, h, w) = (x.at(n, c, h, w) - m.mean) / std::sqrt(m.variance + norm->eps) *
                                  parameters[0][static_cast<std::size_t>(c)] +
                              parameters[1][static_cast<std::size_t>(c)];
    });
  } else if (const auto* groups = std::get_if<GroupNorm>(&operation)) {
    for_each_normalized(
        *groups, x, [&](int n, int c, int h, int w, double mean, double inverse, std::size_t) {
          const auto channel = static_cast<std::size_t>(c);
          output.at(n, c, h, w) =
              (x.at(n, c, h, w) - mean) * inverse * parameters[0][channel] + parameters[1][channel];
        });
  } else if (is_pool(operation)) {
    const bool max = std::holds_alternative<MaxPool2d>(operation);
    for_each_index(output, [&](int n, int c, int h, int w) {
      const PoolWindow window = window_of(operation, x.shape, output.shape, h, w);
      double sum = max ? -INFINITY : 0.0;
      for_each_pixel(window, [&](int i, int j) {
        const double v = x.at(n, c, i, j);
        sum = max ? (v > sum || std::isnan(v) ? v : sum) : sum + v / window.count;
      });
      output.at(n, c, h, w) = sum;
    });
  } else if (std::holds_alternative<Concat>(operation)) {
    for_each_concatenated(inputs, [&](std::size_t k, int c, int n, int from, int h, int w) {
      output.at(n, c, h, w) = inputs[k].at(n, from, h, w);
    });
  } else if (std::holds_alternative<Flatten>(operation)) {
    output.values = x.values;
  } else if (std::holds_alternative<Add>(operation)) {
    for (std::size_t i = 0; i < output.values.size(); ++i) {
      output.values[i] = x.values[i] + inputs[1].values[i];
    }
  }
}

/// Computes gradients of inputs and parameters from the gradient of the output. All must be zeros before.
inline void apply_backward(const Operation& operation, const Tensors& inputs, const Parameters& parameters,
                           const Tensor& grad, Tensors& grad_inputs, Parameters& grad_parameters) {
  const Tensor& x = inputs[0];
  Tensor& dx = grad_inputs[0];
  if (const auto* conv = std::get_if<Conv2d>(&operation)) {
    const std::size_t plane = static_cast<std::size_t>(grad.shape.height * grad.shape.width);
    for (std::size_t i = 0; i < grad.values.size(); ++i) {
      if (!grad_parameters[1].empty()) {
        grad_parameters[1][i / plane % static_cast<std::size_t>(grad.shape.channels)] += grad.values[i];
      }
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
      if (!grad_parameters[1].empty()) {
        grad_parameters[1][i % outputs] += grad.values[i];
      }
      for (std::size_t k = 0; k < features; ++k) {
        const std::size_t input = i / outputs * features + k;
        const std::size_t weight = i % outputs * features + k;
        dx.values[input] += grad.values[i] * parameters[0][weight];
        grad_parameters[0][weight] += grad.values[i] * x.values[input];
      }
    }
  } else if (const auto* activation = std::get_if<Activation>(&operation)) {
    for (std::size_t i = 0; i < grad.values.size(); ++i) {
      dx.values[i] = slope(activation->kind, x.values[i]) * grad.values[i];
    }
  } else if (const auto* norm = std::get_if<BatchNorm2d>(&operation)) {
    norm_backward(*norm, x, parameters, grad, dx, grad_parameters);
  } else if (const auto* groups = std::get_if<GroupNorm>(&operation)) {
    group_norm_backward(*groups, x, parameters, grad, dx, grad_parameters);
  } else if (is_pool(operation)) {
    const bool max = std::holds_alternative<MaxPool2d>(operation);
    for_each_index(grad, [&](int n, int c, int h, int w) {
      const PoolWindow window = window_of(operation, x.shape, grad.shape, h, w);
      int row = window.rows.first;
      int column = window.columns.first;
      for_each_pixel(window, [&](int i, int j) {
        if (max && x.at(n, c, i, j) > x.at(n, c, row, column)) {
          row = i;
          column = j;
        } else if (!max) {
          dx.at(n, c, i, j) += grad.at(n, c, h, w) / window.count;
        }
      });
      if (max) {
        dx.at(n, c, row, column) += grad.at(n, c, h, w);
      }
    });
  } else if (std::holds_alternative<Concat>(operation)) {
    for_each_concatenated(inputs, [&](std::size_t k, int c, int n, int from, int h, int w) {
      grad_inputs[k].at(n, from, h, w) = grad.at(n, c, h, w);
    });
  } else if (std::holds_alternative<Flatten>(operation)) {
    dx.values = grad.values;
  } else if (std::holds_alternative<Add>(operation)) {
    dx.values = grad.values;
    grad_inputs[1].values = grad.values;
  }
}

/// A node with its epilogue: the operation, then addition, activation and pooling.
struct Reference {
  std::vector<Operation> stages;
  std::vector<Tensors> stage_inputs;
  Tensor output;

  /// Runs forward.
  Reference(const GraphNode& node, const Tensors& inputs, const Parameters& parameters) {
    const int pool = node.epilogue.pool;
    Shape shape = node.shape;
    if (pool > 0) {
      shape = {shape.channels, shape.height * pool, shape.width * pool};
    }
    const auto run = [&](const Operation& operation, const Tensors& from, Shape to) {
      stages.push_back(operation);
      stage_inputs.push_back(from);
      output = Tensor(inputs[0].samples, to);
      apply(operation, from, parameters, output);
    };
    Tensors first = inputs;
    if (node.epilogue.add) {
      first[1] = {};
    }
    run(node.operation, first, shape);
    if (node.epilogue.add) {
      run(Add{}, {output, inputs[1]}, shape);
    }
    if (node.epilogue.relu || node.epilogue.relu6) {
      run(Activation{node.epilogue.relu ? Activation::Kind::relu : Activation::Kind::relu6}, {output}, shape);
    }
    if (pool > 0) {
      run(AvgPool2d{.kernel = pool, .stride = pool}, {output}, node.shape);
    }
  }

  void backward(const Parameters& parameters, const Tensor& grad_output, Tensors& grad_inputs,
                Parameters& grad_parameters) const {
    Tensor grad = grad_output;
    Tensor residual;
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      grad_parameters[k].assign(parameters[k].size(), 0.0);
    }
    for (std::size_t i = stages.size(); i-- > 0;) {
      for (std::size_t k = 0; k < max_inputs; ++k) {
        grad_inputs[k] = Tensor(stage_inputs[i][k].samples, stage_inputs[i][k].shape);
      }
      apply_backward(stages[i], stage_inputs[i], parameters, grad, grad_inputs, grad_parameters);
      grad = grad_inputs[0];
      if (i > 0 && std::holds_alternative<Add>(stages[i])) {
        residual = grad_inputs[1];
      }
    }
    if (residual.samples > 0) {
      grad_inputs[1] = residual;
    }
  }
};

}  // namespace lockstep::testing
