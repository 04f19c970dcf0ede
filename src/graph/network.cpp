#include "lockstep/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

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

/// Output size of a window that slides over `size` pixels.
int slide(const std::string& layer, int size, int kernel, int stride, int padding) {
  if (kernel < 1 || stride < 1 || padding < 0) {
    refuse(layer,
           fmt::format("kernel {}, stride {} and padding {} do not make a window", kernel, stride, padding));
  }
  if (size + 2 * padding < kernel) {
    refuse(layer, fmt::format("a window of {} does not fit into {} pixels", kernel, size + 2 * padding));
  }
  return (size + 2 * padding - kernel) / stride + 1;
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

/// What a layer makes of its inputs' shapes.
Shape infer(const Operation& operation, const std::string& name, const std::vector<Shape>& inputs) {
  const Shape x = inputs.empty() ? Shape{} : inputs.front();
  return std::visit(
      Overloaded{
          [&](const Input&) { return x; },
          [&](const Conv2d& conv) {
            expect_positive(name, conv.channels, "channels");
            return Shape{conv.channels, slide(name, x.height, conv.kernel, conv.stride, conv.padding),
                         slide(name, x.width, conv.kernel, conv.stride, conv.padding)};
          },
          [&](const Linear& linear) {
            expect_vector(name, x);
            expect_positive(name, linear.features, "features");
            return Shape{linear.features, 1, 1};
          },
          [&](const Relu&) { return x; },
          [&](const AvgPool2d& pool) {
            return Shape{x.channels, slide(name, x.height, pool.kernel, pool.stride, 0),
                         slide(name, x.width, pool.kernel, pool.stride, 0)};
          },
          [&](const Flatten&) {
            return Shape{static_cast<int>(x.size()), 1, 1};
          },
          [&](const Add&) {
            if (inputs[0] != inputs[1]) {
              refuse(name, fmt::format("cannot add {} and {}", describe(inputs[0]), describe(inputs[1])));
            }
            return x;
          },
      },
      operation);
}

/// Weight and bias, as PyTorch lays them out.
std::vector<Parameter> weight_and_bias(const std::string& name, std::vector<std::int64_t> weight_shape,
                                       Initializer weight) {
  const std::int64_t fan_in =
      std::accumulate(weight_shape.begin() + 1, weight_shape.end(), std::int64_t{1}, std::multiplies<>());
  Initializer bias = Initializer::zeros();
  if (weight.kind == Initializer::Kind::standard) {
    weight = bias = Initializer::uniform(1.0 / std::sqrt(static_cast<double>(fan_in)));
  }
  return {{name + ".weight", weight_shape, weight}, {name + ".bias", {weight_shape[0]}, bias}};
}

std::vector<Parameter> parameters_for(const Operation& operation, const std::string& name,
                                      const std::vector<Shape>& inputs) {
  if (const auto* conv = std::get_if<Conv2d>(&operation)) {
    return weight_and_bias(name, {conv->channels, inputs[0].channels, conv->kernel, conv->kernel},
                           conv->weight);
  }
  if (const auto* linear = std::get_if<Linear>(&operation)) {
    return weight_and_bias(name, {linear->features, inputs[0].channels}, linear->weight);
  }
  return {};
}

std::string kind_name(const Operation& operation) {
  return std::visit(Overloaded{
                        [](const Input&) { return "input"; },
                        [](const Conv2d&) { return "conv"; },
                        [](const Linear&) { return "fc"; },
                        [](const Relu&) { return "relu"; },
                        [](const AvgPool2d&) { return "pool"; },
                        [](const Flatten&) { return "flatten"; },
                        [](const Add&) { return "add"; },
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

}  // namespace

std::size_t Parameter::size() const {
  return static_cast<std::size_t>(
      std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>()));
}

const Shape& Value::shape() const { return network_->layers()[static_cast<std::size_t>(id_)].shape; }

Network::Network(Shape input) {
  if (input.channels < 1 || input.height < 1 || input.width < 1) {
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

Value Network::add(Operation operation, const std::vector<Value>& inputs) {
  if (auto* pool = std::get_if<AvgPool2d>(&operation); pool != nullptr && pool->stride == 0) {
    pool->stride = pool->kernel;
  }
  Layer layer{operation, name_for(operation), {}, {}, {}};
  std::vector<Shape> shapes;
  for (const Value& input : inputs) {
    if (&input.network() != this) {
      refuse(layer.name, "its input belongs to another network");
    }
    layer.inputs.push_back(input.id());
    shapes.push_back(input.shape());
  }
  layer.shape = infer(operation, layer.name, shapes);
  for (Parameter& parameter : parameters_for(operation, layer.name, shapes)) {
    layer.parameters.push_back(static_cast<int>(parameters_.size()));
    parameters_.push_back(std::move(parameter));
  }
  layers_.push_back(std::move(layer));
  return {this, static_cast<int>(layers_.size()) - 1};
}

std::string Network::name_for(const Operation& operation) const {
  std::string name = given_name(operation);
  if (name.empty()) {
    const auto same_kind = std::count_if(layers_.begin(), layers_.end(), [&](const Layer& other) {
      return other.operation.index() == operation.index();
    });
    name = fmt::format("{}{}", kind_name(operation), same_kind + 1);
  }
  if (std::any_of(layers_.begin(), layers_.end(), [&](const Layer& other) { return other.name == name; })) {
    refuse(name, "this name is taken by another layer");
  }
  return name;
}

Value conv2d(Value x, Conv2d options) { return x.network().add(std::move(options), {x}); }
Value linear(Value x, int features) { return linear(x, Linear{.features = features}); }
Value linear(Value x, Linear options) { return x.network().add(std::move(options), {x}); }
Value relu(Value x) { return x.network().add(Relu{}, {x}); }
Value avg_pool2d(Value x, AvgPool2d options) { return x.network().add(options, {x}); }
Value flatten(Value x) { return x.network().add(Flatten{}, {x}); }
Value operator+(Value a, Value b) { return a.network().add(Add{}, {a, b}); }

}  // namespace lockstep
