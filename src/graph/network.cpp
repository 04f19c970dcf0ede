#include "lockstep/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "core/text/printable.h"
#include "core/text/utf8.h"
#include "graph/operations.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

bool is_too_large(const Shape& shape) {
  return 1.0 * shape.channels * shape.height * shape.width > static_cast<double>(max_values);
}

/// Refuses sizes that would overflow integer types or, probably due to typing errors, exhaust memory.
void check_sizes(const LayerContext& layer, std::span<const Parameter> parameters) {
  constexpr double max_parameter_values = 1LL << 40;
  if (is_too_large(layer.output)) {
    layer.refuse("its output of ", layer.output, " is too large");
  }
  for (const Parameter& parameter : parameters) {
    const double size = std::accumulate(
        parameter.shape.begin(), parameter.shape.end(), 1.0,
        [](double product, std::int64_t extent) { return product * static_cast<double>(extent); });
    if (size > max_parameter_values) {
      layer.refuse(fmt::format("{} would have {:.0e} values", parameter.name, size));
    }
  }
}

void check_initializers(const LayerContext& layer, std::span<const Parameter> parameters) {
  for (const auto& [name, shape, initializer, momentum] : parameters) {
    const auto [kind, scale] = initializer;
    if (!has_scale(kind) || (std::isfinite(scale) && scale >= 0.0)) continue;
    layer.refuse(fmt::format("{} cannot begin as {} {}: give a finite number of at least 0", name,
                             name_of(kind), scale));
  }
}

void check_inputs(const Operation& operation, const LayerContext& layer) {
  const auto [min, max] = inputs_of(operation);
  if (layer.inputs.size() >= min && layer.inputs.size() <= max) return;
  const std::string wanted =
      min == max ? counted(min, "input") : fmt::format("{} to {}", min, counted(max, "input"));
  layer.refuse(fmt::format("takes {}, not {}", wanted, layer.inputs.size()));
}

/// Member `name` of the operation's options, after which parameters are named; null if there is none.
const std::string* parameters_name(const Operation& operation) {
  return std::visit(
      [](const auto& options) -> const std::string* {
        if constexpr (requires { options.name; }) {
          return &options.name;
        } else {
          return nullptr;
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
    throw Error(Category::usage,
                fmt::format("a network cannot take images of {}", LayerContext::text(input)));
  }
  layers_.push_back({Input{}, "input", {}, input, {}});
}

Value Network::input() { return {this, 0}; }

void Network::output(Value logits) {
  if (&logits.network() != this) {
    throw Error(Category::usage, "the output belongs to another network");
  }
  const Shape shape = logits.shape();
  LayerContext{layers_[static_cast<std::size_t>(logits.id())].name, std::span(&shape, 1)}.expect_vector();
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
  const std::string* const given = parameters_name(operation);
  Layer layer{operation, name_for(operation, name.empty() && given != nullptr ? *given : name), {}, {}, {}};
  std::vector<Shape> shapes;
  for (const Value& input : inputs) {
    if (&input.network() != this) {
      LayerContext{.name = layer.name}.refuse("its input belongs to another network");
    }
    layer.inputs.push_back(input.id());
    shapes.push_back(input.shape());
  }
  LayerContext context{.name = layer.name, .inputs = shapes};
  check_inputs(operation, context);
  context.output = layer.shape = infer(operation, context);
  std::vector<Parameter> parameters = parameters_of(operation, context);
  check_sizes(context, parameters);
  check_initializers(context, parameters);
  for (Parameter& parameter : parameters) {
    layer.parameters.push_back(static_cast<int>(parameters_.size()));
    parameters_.push_back(std::move(parameter));
  }
  layers_.push_back(std::move(layer));
  return {this, static_cast<int>(layers_.size()) - 1};
}

/// Names of layers with parameters are unique, because parameters are named after their layer. Layers without
/// parameters do not reserve their names.
bool Network::is_taken(const std::string& name, const Operation& operation) const {
  return std::any_of(layers_.begin(), layers_.end(), [&](const Layer& other) {
    return other.name == name && (!other.parameters.empty() || parameters_name(operation) == nullptr);
  });
}

std::string Network::name_for(const Operation& operation, const std::string& given) const {
  if (!given.empty()) {
    if (!is_utf8(given)) LayerContext{.name = given}.refuse("this name is not UTF-8");
    if (parameters_name(operation) != nullptr && is_taken(given, operation)) {
      LayerContext{.name = given}.refuse("this name is taken by another layer");
    }
    return given;
  }
  auto number = 1 + std::count_if(layers_.begin(), layers_.end(), [&](const Layer& other) {
                  return other.operation.index() == operation.index();
                });
  std::string name;
  do {
    name = fmt::format("{}{}", prefix_of(operation), number++);
  } while (is_taken(name, operation));
  return name;
}

Value concat(const std::vector<Value>& values) {
  if (values.empty()) {
    throw Error(Category::usage, "concat takes at least 2 values");
  }
  return values.front().network().add(Concat{}, values);
}

}  // namespace lockstep
