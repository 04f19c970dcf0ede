#include "lockstep/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>

#include "lockstep/error.h"

namespace lockstep {
namespace {

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;  // Clang 14 does not deduce it

std::string describe(Shape shape) {
  return fmt::format("{}x{}x{}", shape.channels, shape.height, shape.width);
}

[[noreturn]] void refuse(const std::string& layer, const std::string& reason) {
  throw Error(Category::usage, fmt::format("layer {}: {}", layer, reason));
}

/// A window that slides over an image, in one direction.
struct Window {
  int kernel = 1;
  int stride = 1;
  int padding = 0;
  int dilation = 1;
  bool ceil_mode = false;
};

int slide(const std::string& layer, int size, const Window& window) {
  const auto& [kernel, stride, padding, dilation, ceil_mode] = window;
  if (kernel < 1 || stride < 1 || padding < 0 || dilation < 1) {
    refuse(layer, fmt::format("kernel {}, stride {}, padding {} and dilation {} do not make a window", kernel,
                              stride, padding, dilation));
  }
  const int reach = dilation * (kernel - 1) + 1;
  const int room = size + 2 * padding - reach;
  if (room < 0) {
    refuse(layer, fmt::format("a window of {} does not fit into {} pixels", reach, size + 2 * padding));
  }
  int count = (room + (ceil_mode ? stride - 1 : 0)) / stride + 1;
  if (ceil_mode && (count - 1) * stride >= size + padding) {
    --count;  // it would start in the right padding
  }
  return count;
}

Shape slide(const std::string& layer, int channels, Shape x, const Window& window) {
  return {channels, slide(layer, x.height, window), slide(layer, x.width, window)};
}

void expect_vector(const std::string& layer, Shape shape) {
  if (shape.height != 1 || shape.width != 1) {
    refuse(layer, fmt::format("takes a vector, not {}: use flatten first", describe(shape)));
  }
}

void expect_positive(const std::string& layer, int count, const char* what) {
  if (count < 1) {
    refuse(layer, fmt::format("{} must be at least 1, not {}", what, count));
  }
}

template <class Pool>
Shape infer_pool(const Pool& pool, const std::string& name, Shape x) {
  if (pool.padding > pool.kernel / 2) {
    refuse(name, fmt::format("padding {} is more than half of the window {}", pool.padding, pool.kernel));
  }
  return slide(
      name, x.channels, x,
      {.kernel = pool.kernel, .stride = pool.stride, .padding = pool.padding, .ceil_mode = pool.ceil_mode});
}

/// What a layer makes of its inputs' shapes, once its options are checked.
struct InferShape {
  const std::string& name;
  const std::vector<Shape>& inputs;
  Shape x = inputs.empty() ? Shape{} : inputs.front();

  Shape operator()(const Input&) const { return x; }
  Shape operator()(const Conv2d& conv) const {
    expect_positive(name, conv.channels, "channels");
    expect_positive(name, conv.groups, "groups");
    if (x.channels % conv.groups != 0 || conv.channels % conv.groups != 0) {
      refuse(name, fmt::format("{} groups do not divide {} input and {} output channels", conv.groups,
                               x.channels, conv.channels));
    }
    return slide(
        name, conv.channels, x,
        {.kernel = conv.kernel, .stride = conv.stride, .padding = conv.padding, .dilation = conv.dilation});
  }
  Shape operator()(const Linear& linear) const {
    expect_vector(name, x);
    expect_positive(name, linear.features, "features");
    return {linear.features, 1, 1};
  }
  Shape operator()(const BatchNorm2d& norm) const {
    if (!(norm.eps > 0.0) || !(norm.momentum > 0.0 && norm.momentum <= 1.0)) {
      refuse(name, fmt::format("eps {} must be above 0, momentum {} in (0, 1]", norm.eps, norm.momentum));
    }
    return x;
  }
  Shape operator()(const Activation&) const { return x; }
  Shape operator()(const MaxPool2d& pool) const { return infer_pool(pool, name, x); }
  Shape operator()(const AvgPool2d& pool) const { return infer_pool(pool, name, x); }
  Shape operator()(const AdaptiveAvgPool2d& pool) const {
    expect_positive(name, pool.size, "size");
    return {x.channels, pool.size, pool.size};
  }
  Shape operator()(const Flatten&) const { return {static_cast<int>(x.size()), 1, 1}; }
  Shape operator()(const Add&) const {
    if (inputs[0] != inputs[1]) {
      refuse(name, fmt::format("cannot add {} and {}", describe(inputs[0]), describe(inputs[1])));
    }
    return x;
  }
  Shape operator()(const Concat&) const {
    Shape shape{0, x.height, x.width};
    for (const Shape& input : inputs) {
      if (input.height != x.height || input.width != x.width) {
        refuse(name, fmt::format("cannot concatenate {} and {}", describe(x), describe(input)));
      }
      shape.channels += input.channels;
    }
    return shape;
  }
  Shape operator()(const Dropout& dropout) const {
    if (!(dropout.p >= 0.0 && dropout.p < 1.0)) {
      refuse(name, fmt::format("the probability of dropping must be in [0, 1), not {}", dropout.p));
    }
    return x;
  }
};

bool is_too_large(const Shape& shape) {
  constexpr double most_values = 1 << 28;
  return 1.0 * shape.channels * shape.height * shape.width > most_values;
}

/// Keeps products of extents within their types, and typing errors from taking all memory.
void check_sizes(const Network::Layer& layer, std::span<const Parameter> parameters) {
  constexpr double most_parameters = 1LL << 40;
  if (is_too_large(layer.shape)) {
    refuse(layer.name, fmt::format("its output of {} is too large", describe(layer.shape)));
  }
  for (const Parameter& parameter : parameters) {
    const double size = std::accumulate(
        parameter.shape.begin(), parameter.shape.end(), 1.0,
        [](double product, std::int64_t extent) { return product * static_cast<double>(extent); });
    if (size > most_parameters) {
      refuse(layer.name, fmt::format("{} would have {:.0e} values", parameter.name, size));
    }
  }
}

std::size_t least_inputs(const Operation& operation) {
  const bool several = std::holds_alternative<Add>(operation) || std::holds_alternative<Concat>(operation);
  return several ? 2 : 1;
}

void check_inputs(const Operation& operation, const std::string& name, std::size_t inputs) {
  const std::size_t least = least_inputs(operation);
  const std::size_t most = std::holds_alternative<Concat>(operation) ? max_inputs : least;
  if (inputs < least || inputs > most) {
    refuse(name, fmt::format("takes {} inputs, not {}",
                             least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most),
                             inputs));
  }
}

std::int64_t product(std::span<const std::int64_t> factors) {
  return std::accumulate(factors.begin(), factors.end(), std::int64_t{1}, std::multiplies<>());
}

/// Weight and bias, as PyTorch lays them out.
std::vector<Parameter> weight_and_bias(const std::string& name, const std::vector<std::int64_t>& weight_shape,
                                       Initializer weight, bool with_bias) {
  const std::span<const std::int64_t> shape(weight_shape);
  Initializer bias = Initializer::zeros();
  if (weight.kind == Initializer::Kind::standard) {
    weight = bias = Initializer::uniform(1.0 / std::sqrt(static_cast<double>(product(shape.subspan(1)))));
  } else if (weight.kind == Initializer::Kind::he_fan_out) {
    const auto fan_out =
        static_cast<double>(shape[0] * product(shape.subspan(std::min<std::size_t>(2, shape.size()))));
    weight = Initializer::normal(std::sqrt(2.0 / fan_out));
  }
  std::vector<Parameter> parameters{{name + ".weight", weight_shape, weight}};
  if (with_bias) {
    parameters.push_back({name + ".bias", {weight_shape[0]}, bias});
  }
  return parameters;
}

std::vector<Parameter> parameters_for(const Operation& operation, const std::string& name,
                                      const std::vector<Shape>& inputs) {
  const std::int64_t channels = inputs[0].channels;
  if (const auto* conv = std::get_if<Conv2d>(&operation)) {
    return weight_and_bias(name, {conv->channels, channels / conv->groups, conv->kernel, conv->kernel},
                           conv->weight, conv->bias);
  }
  if (const auto* linear = std::get_if<Linear>(&operation)) {
    return weight_and_bias(name, {linear->features, channels}, linear->weight, linear->bias);
  }
  if (const auto* norm = std::get_if<BatchNorm2d>(&operation)) {
    return {{name + ".weight", {channels}, norm->weight},
            {name + ".bias", {channels}, Initializer::zeros()},
            {name + ".running_mean", {channels}, Initializer::zeros(), norm->momentum},
            {name + ".running_var", {channels}, Initializer::ones(), norm->momentum}};
  }
  return {};
}

std::string kind_name(const Operation& operation) {
  return std::visit(Overloaded{
                        [](const Input&) { return "input"; },
                        [](const Conv2d&) { return "conv"; },
                        [](const Linear&) { return "fc"; },
                        [](const BatchNorm2d&) { return "bn"; },
                        [](const Activation& activation) {
                          constexpr std::array names{"relu", "relu6_", "silu", "gelu"};
                          return names[static_cast<std::size_t>(activation.kind)];
                        },
                        [](const MaxPool2d&) { return "max_pool"; },
                        [](const AvgPool2d&) { return "pool"; },
                        [](const AdaptiveAvgPool2d&) { return "adaptive_pool"; },
                        [](const Flatten&) { return "flatten"; },
                        [](const Add&) { return "add"; },
                        [](const Concat&) { return "concat"; },
                        [](const Dropout&) { return "dropout"; },
                    },
                    operation);
}

/// Whether the operation's options have a name: that of its parameters.
bool names_parameters(const Operation& operation) {
  return std::visit(
      [](const auto& options) {
        return requires { options.name; };
      },
      operation);
}

std::string given_name(const Operation& operation) {
  return std::visit(
      [](const auto& options) {
        if constexpr (requires { options.name; }) {
          return options.name;
        } else {
          return std::string();
        }
      },
      operation);
}

/// A pooling layer's stride is its window where none is given.
void complete(Operation& operation) {
  std::visit(
      [](auto& options) {
        if constexpr (requires { options.ceil_mode; }) {
          if (options.stride == 0) options.stride = options.kernel;
        }
      },
      operation);
}

}  // namespace

std::size_t Parameter::size() const {
  return static_cast<std::size_t>(
      std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>()));
}

const Shape& Value::shape() const { return network_->layers()[static_cast<std::size_t>(id_)].shape; }

Network::Network(Shape input) {
  if (input.channels < 1 || input.height < 1 || input.width < 1 || is_too_large(input)) {
    throw Error(Category::usage, fmt::format("a network cannot take images of {}", describe(input)));
  }
  layers_.push_back({Input{}, "input", {}, input, {}});
}

Value Network::input() { return {this, 0}; }

void Network::output(Value logits) {
  expect_vector(layers_[static_cast<std::size_t>(logits.id())].name, logits.shape());
  output_ = logits.id();
}

int Network::classes() const {
  if (output_ < 0) {
    throw Error(Category::usage, "the network has no output: call output(logits)");
  }
  return layers_[static_cast<std::size_t>(output_)].shape.channels;
}

Value Network::add(Operation operation, const std::vector<Value>& inputs, const std::string& name) {
  complete(operation);
  Layer layer{operation, name_for(operation, name.empty() ? given_name(operation) : name), {}, {}, {}};
  check_inputs(operation, layer.name, inputs.size());
  std::vector<Shape> shapes;
  for (const Value& input : inputs) {
    if (&input.network() != this) {
      refuse(layer.name, "its input belongs to another network");
    }
    layer.inputs.push_back(input.id());
    shapes.push_back(input.shape());
  }
  layer.shape = std::visit(InferShape{layer.name, shapes}, operation);
  std::vector<Parameter> parameters = parameters_for(operation, layer.name, shapes);
  check_sizes(layer, parameters);
  for (Parameter& parameter : parameters) {
    layer.parameters.push_back(static_cast<int>(parameters_.size()));
    parameters_.push_back(std::move(parameter));
  }
  layers_.push_back(std::move(layer));
  return {this, static_cast<int>(layers_.size()) - 1};
}

/// Parameters are called by their layer, so what layers without any are called takes no name from the others.
bool Network::is_taken(const std::string& name, const Operation& operation) const {
  return std::any_of(layers_.begin(), layers_.end(), [&](const Layer& other) {
    return other.name == name && (!other.parameters.empty() || !names_parameters(operation));
  });
}

std::string Network::name_for(const Operation& operation, const std::string& given) const {
  if (!given.empty()) {
    if (names_parameters(operation) && is_taken(given, operation)) {
      refuse(given, "this name is taken by another layer");
    }
    return given;
  }
  auto number = 1 + std::count_if(layers_.begin(), layers_.end(), [&](const Layer& other) {
                  return other.operation.index() == operation.index();
                });
  std::string name;
  do {
    name = fmt::format("{}{}", kind_name(operation), number++);
  } while (is_taken(name, operation));
  return name;
}

Value conv2d(Value x, Conv2d options) { return x.network().add(std::move(options), {x}); }
Value linear(Value x, int features) { return linear(x, Linear{.features = features}); }
Value linear(Value x, Linear options) { return x.network().add(std::move(options), {x}); }
Value batch_norm2d(Value x, BatchNorm2d options) { return x.network().add(std::move(options), {x}); }
Value relu(Value x) { return x.network().add(Activation{Activation::Kind::relu}, {x}); }
Value relu6(Value x) { return x.network().add(Activation{Activation::Kind::relu6}, {x}); }
Value silu(Value x) { return x.network().add(Activation{Activation::Kind::silu}, {x}); }
Value gelu(Value x) { return x.network().add(Activation{Activation::Kind::gelu}, {x}); }
Value max_pool2d(Value x, MaxPool2d options) { return x.network().add(options, {x}); }
Value avg_pool2d(Value x, AvgPool2d options) { return x.network().add(options, {x}); }
Value adaptive_avg_pool2d(Value x, int size) { return x.network().add(AdaptiveAvgPool2d{size}, {x}); }
Value flatten(Value x) { return x.network().add(Flatten{}, {x}); }
Value operator+(Value a, Value b) { return a.network().add(Add{}, {a, b}); }
Value concat(const std::vector<Value>& values) {
  if (values.empty()) {
    throw Error(Category::usage, "concat takes at least 2 values");
  }
  return values.front().network().add(Concat{}, values);
}
Value dropout(Value x, double p) { return x.network().add(Dropout{p}, {x}); }

}  // namespace lockstep
