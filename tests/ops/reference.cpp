#include "ops/reference.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace lockstep::test {

bool is_pool(const Operation& operation) {
  return std::holds_alternative<MaxPool2d>(operation) || std::holds_alternative<AvgPool2d>(operation) ||
         std::holds_alternative<AdaptiveAvgPool2d>(operation);
}

namespace {

/// The operation as a convolution (a linear layer is one on images of one pixel), or null if it is not one.
const Conv2d* convolution_of(const Operation& operation) {
  static const Conv2d of_one_pixel{.kernel = 1};
  return std::holds_alternative<Linear>(operation) ? &of_one_pixel : std::get_if<Conv2d>(&operation);
}

/// Calls visit(output index, input index, weight index) for every product of a convolution except those with
/// padding. Indices, because access by coordinates took most of the time of all tests.
template <class Visit>
void for_each_product(const Conv2d& options, const Tensor& input, const Tensor& output, const Visit& visit) {
  const int kernel = options.kernel;
  const int inputs = input.shape.channels / options.groups;  // input channels per output channel
  const int outputs = output.shape.channels / options.groups;
  std::size_t to = 0;
  for_each_index(output, [&](int n, int o, int h, int w) {
    for (int c = 0; c < inputs; ++c) {
      const std::size_t channel = input.index(n, o / outputs * inputs + c, 0, 0);
      const auto weights = static_cast<std::size_t>((o * inputs + c) * kernel * kernel);
      for (int k = 0; k < kernel * kernel; ++k) {
        const int row = h * options.stride + k / kernel * options.dilation - options.padding;
        const int column = w * options.stride + k % kernel * options.dilation - options.padding;
        if (row >= 0 && row < input.shape.height && column >= 0 && column < input.shape.width) {
          visit(to, channel + static_cast<std::size_t>(row * input.shape.width + column),
                weights + static_cast<std::size_t>(k));
        }
      }
    }
    ++to;
  });
}

double activate(Activation::Kind kind, double x) {
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

double slope(Activation::Kind kind, double x) {
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

/// Pixels of a window that lie inside the image, and the divisor for averages.
struct PoolWindow {
  std::pair<int, int> rows, columns;  ///< [first, second)
  double count = 1;
};

PoolWindow window_of(const Operation& operation, Shape in, Shape out, int h, int w) {
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

/// Calls visit(input, output channel, sample, input channel, row, column) for every element.
template <class Visit>
void for_each_concatenated(const Tensors& inputs, const Visit& visit) {
  int first = 0;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    for_each_index(inputs[k], [&](int n, int c, int h, int w) { visit(k, first + c, n, c, h, w); });
    first += inputs[k].shape.channels;
  }
}

/// A normalization: each value is normalised by the mean and variance of its group.
struct Normalization {
  double eps;
  int groups = 0;  ///< groups per sample; 0: each channel, across all samples, is a group

  std::size_t group_of(const Tensor& x, int n, int c) const {
    return static_cast<std::size_t>(groups == 0 ? c : n * groups + c * groups / x.shape.channels);
  }
};

std::optional<Normalization> normalization_of(const Operation& operation) {
  if (const auto* batch = std::get_if<BatchNorm2d>(&operation)) return Normalization{batch->eps};
  if (const auto* group = std::get_if<GroupNorm>(&operation)) return Normalization{group->eps, group->groups};
  return std::nullopt;
}

/// Mean and variance of a group of values.
struct Moments {
  double count = 0;
  double mean = 0;
  double variance = 0;  ///< biased: sum of squares / number of values
};

/// A value of a normalization's input.
struct NormalValue {
  std::size_t group, channel;
  double inverse;  ///< 1 / the group's deviation
  double normal;   ///< the value, normalised
};

std::vector<Moments> moments_of(const Normalization& norm, const Tensor& x) {
  std::vector<Moments> moments(static_cast<std::size_t>(x.samples * std::max(norm.groups, x.shape.channels)));
  const auto of = [&](int n, int c) -> Moments& { return moments[norm.group_of(x, n, c)]; };
  for_each_index(x, [&](int n, int c, int, int) { ++of(n, c).count; });
  for_each_index(x, [&](int n, int c, int h, int w) { of(n, c).mean += x.at(n, c, h, w) / of(n, c).count; });
  for_each_index(x, [&](int n, int c, int h, int w) {
    const double distance = x.at(n, c, h, w) - of(n, c).mean;
    of(n, c).variance += distance * distance / of(n, c).count;
  });
  return moments;
}

/// Calls visit(sample, channel, row, column, NormalValue).
template <class Visit>
void for_each_normalized(const Normalization& norm, const Tensor& x, const std::vector<Moments>& moments,
                         const Visit& visit) {
  for_each_index(x, [&](int n, int c, int h, int w) {
    const std::size_t group = norm.group_of(x, n, c);
    const double inverse = 1 / std::sqrt(moments[group].variance + norm.eps);
    visit(n, c, h, w,
          NormalValue{group, static_cast<std::size_t>(c), inverse,
                      (x.at(n, c, h, w) - moments[group].mean) * inverse});
  });
}

/// Gradients of a normalization. The "gradients" of running statistics are the batch's statistics times the
/// number of samples.
void norm_backward(const Normalization& norm, const Tensor& x, const Parameters& parameters,
                   const Tensor& grad, Tensor& dx, Parameters& grad_parameters) {
  struct Means {
    double grads = 0, products = 0;
  };
  const std::vector<Moments> moments = moments_of(norm, x);
  std::vector<Means> means(moments.size());
  for_each_normalized(norm, x, moments, [&](int n, int c, int h, int w, const NormalValue& value) {
    const double of_output = grad.at(n, c, h, w);
    grad_parameters[0][value.channel] += of_output * value.normal;
    grad_parameters[1][value.channel] += of_output;
    const double share = of_output * parameters[0][value.channel] / moments[value.group].count;
    means[value.group].grads += share;
    means[value.group].products += share * value.normal;
  });
  for_each_normalized(norm, x, moments, [&](int n, int c, int h, int w, const NormalValue& value) {
    dx.at(n, c, h, w) =
        value.inverse * (grad.at(n, c, h, w) * parameters[0][value.channel] - means[value.group].grads -
                         value.normal * means[value.group].products);
  });
  for (std::size_t c = 0; c < grad_parameters[2].size(); ++c) {
    const double count = moments[c].count;
    grad_parameters[2][c] = x.samples * moments[c].mean;
    grad_parameters[3][c] = x.samples * moments[c].variance * (count > 1 ? count / (count - 1) : 1);
  }
}

/// Computes one operation without its epilogue. `output` has its shape.
void apply(const Operation& operation, const Tensors& inputs, const Parameters& parameters, Tensor& output) {
  const Tensor& x = inputs[0];
  if (const Conv2d* conv = convolution_of(operation)) {
    for_each_index(output, [&](int n, int o, int h, int w) {
      output.at(n, o, h, w) = parameters[1].empty() ? 0.0 : parameters[1][static_cast<std::size_t>(o)];
    });
    for_each_product(
        *conv, x, output,
        [sums = output.values.data(), values = x.values.data(), weights = parameters[0].data()](
            std::size_t to, std::size_t from, std::size_t k) { sums[to] += values[from] * weights[k]; });
  } else if (const auto* activation = std::get_if<Activation>(&operation)) {
    for (std::size_t i = 0; i < output.values.size(); ++i) {
      output.values[i] = activate(activation->kind, x.values[i]);
    }
  } else if (const auto norm = normalization_of(operation)) {
    for_each_normalized(
        *norm, x, moments_of(*norm, x), [&](int n, int c, int h, int w, const NormalValue& value) {
          output.at(n, c, h, w) = value.normal * parameters[0][value.channel] + parameters[1][value.channel];
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

/// Computes gradients of inputs and parameters from the gradient of the output. The computed gradients must
/// be zero on entry.
void apply_backward(const Operation& operation, const Tensors& inputs, const Parameters& parameters,
                    const Tensor& grad, Tensors& grad_inputs, Parameters& grad_parameters) {
  const Tensor& x = inputs[0];
  Tensor& dx = grad_inputs[0];
  if (const Conv2d* conv = convolution_of(operation)) {
    for_each_index(grad, [&](int n, int o, int h, int w) {
      if (!parameters[1].empty()) grad_parameters[1][static_cast<std::size_t>(o)] += grad.at(n, o, h, w);
    });
    for_each_product(*conv, x, grad,
                     [grads = grad.values.data(), values = x.values.data(), weights = parameters[0].data(),
                      dx = dx.values.data(),
                      dw = grad_parameters[0].data()](std::size_t from, std::size_t to, std::size_t k) {
                       dx[to] += grads[from] * weights[k];
                       dw[k] += grads[from] * values[to];
                     });
  } else if (const auto* activation = std::get_if<Activation>(&operation)) {
    for (std::size_t i = 0; i < grad.values.size(); ++i) {
      dx.values[i] = slope(activation->kind, x.values[i]) * grad.values[i];
    }
  } else if (const auto norm = normalization_of(operation)) {
    norm_backward(*norm, x, parameters, grad, dx, grad_parameters);
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

}  // namespace

Reference::Reference(const GraphNode& node, const Tensors& inputs, const Parameters& parameters) {
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

void Reference::backward(const Parameters& parameters, const Tensor& grad_output, Tensors& grad_inputs,
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

}  // namespace lockstep::test
