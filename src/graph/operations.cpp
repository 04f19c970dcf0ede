#include "graph/operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "core/text/printable.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

template <class Options>
constexpr auto name_and_prefix(const Options& options) {
  using Known = Traits<Options>;
  if constexpr (requires { Known::names; }) {
    return Known::names.at(static_cast<std::size_t>(options.kind));
  } else {
    return std::pair{Known::name, Known::prefix};
  }
}

/// Number of positions of the window in one direction.
int count_places(const LayerContext& layer, std::int64_t size, const SlidingWindow& window) {
  const auto& [kernel, stride, padding, dilation, ceil_mode] = window;
  if (kernel < 1 || stride < 1 || padding < 0 || dilation < 1) {
    layer.refuse("invalid window: kernel ", kernel, ", stride ", stride, ", padding ", padding,
                 " and dilation ", dilation);
  }
  const std::int64_t reach = static_cast<std::int64_t>(dilation) * (kernel - 1) + 1;
  const std::int64_t padded = size + 2 * static_cast<std::int64_t>(padding);
  if (padded < reach) {
    layer.refuse(fmt::format("a window of {} does not fit into {}", reach, counted(padded, "pixel")));
  }
  std::int64_t count = (padded - reach + (ceil_mode ? stride - 1 : 0)) / stride + 1;
  if (ceil_mode && (count - 1) * stride >= size + padding) {
    --count;  // the last window would start in the right padding
  }
  if (count > static_cast<std::int64_t>(max_values)) {
    layer.refuse(fmt::format("its output of {} pixels in a row is too large", count));
  }
  return static_cast<int>(count);
}

std::int64_t product(std::span<const std::int64_t> factors) {
  return std::accumulate(factors.begin(), factors.end(), std::int64_t{1}, std::multiplies<>());
}

template <class Value>
std::string value_text(const Value& value) {
  if constexpr (std::is_same_v<Value, Initializer>) {
    return fmt::format("{} {}", name_of(value.kind), value.scale);
  } else {
    return fmt::format("{}", value);
  }
}

/// Appends the default operation of each alternative of Operation, one per name.
template <std::size_t index>
void add_operations(std::vector<Operation>& operations) {
  if constexpr (index < std::variant_size_v<Operation>) {
    using Options = std::variant_alternative_t<index, Operation>;
    using Known = Traits<Options>;
    if constexpr (requires { Known::names; }) {
      for (std::size_t kind = 0; kind < Known::names.size(); ++kind) {
        operations.push_back(Options{static_cast<decltype(Options::kind)>(kind)});
      }
    } else if constexpr (Known::inputs.max > 0) {
      operations.push_back(Options{});
    }
    add_operations<index + 1>(operations);
  }
}

}  // namespace

std::string LayerContext::text(const Shape& shape) {
  return fmt::format("{}x{}x{}", shape.channels, shape.height, shape.width);
}
std::string LayerContext::text(double value) { return fmt::format("{}", value); }

void LayerContext::expect_vector() const {
  if (input().height != 1 || input().width != 1) {
    refuse("takes a vector, not ", input(), ": use flatten first");
  }
}

void LayerContext::refuse_with(const std::string& reason) const {
  throw Error(Category::usage, fmt::format("layer {}: {}", name, reason));
}

Shape slide(const LayerContext& layer, int channels, const SlidingWindow& window) {
  return {channels, count_places(layer, layer.input().height, window),
          count_places(layer, layer.input().width, window)};
}

std::vector<Parameter> weight_and_bias(const LayerContext& layer,
                                       const std::vector<std::int64_t>& weight_shape, Initializer weight,
                                       bool with_bias) {
  const std::span<const std::int64_t> shape(weight_shape);
  Initializer bias = Initializer::zeros();
  if (weight.kind == Initializer::Kind::standard) {
    weight = bias = Initializer::uniform(1.0 / std::sqrt(static_cast<double>(product(shape.subspan(1)))));
  } else if (weight.kind == Initializer::Kind::he_fan_out) {
    const auto fan_out =
        static_cast<double>(shape[0] * product(shape.subspan(std::min<std::size_t>(2, shape.size()))));
    weight = Initializer::normal(std::sqrt(2.0 / fan_out));
  }
  std::vector<Parameter> parameters{{layer.name + ".weight", weight_shape, weight}};
  if (with_bias) {
    parameters.push_back({layer.name + ".bias", {weight_shape[0]}, bias});
  }
  return parameters;
}

std::vector<Parameter> scale_and_shift(const LayerContext& layer, Initializer weight) {
  if (weight.kind == Initializer::Kind::standard || weight.kind == Initializer::Kind::he_fan_out) {
    layer.refuse("weight of a normalization cannot begin as ", name_of(weight.kind));
  }
  const std::vector<std::int64_t> shape{layer.input().channels};
  return {{layer.name + ".weight", shape, weight}, {layer.name + ".bias", shape, Initializer::zeros()}};
}

std::string name_of(const Operation& operation) {
  return std::visit([](const auto& options) { return name_and_prefix(options).first; }, operation);
}

std::string prefix_of(const Operation& operation) {
  return std::visit([](const auto& options) { return name_and_prefix(options).second; }, operation);
}

InputCount inputs_of(const Operation& operation) {
  return std::visit([]<class Options>(const Options&) { return Traits<Options>::inputs; }, operation);
}

Reads reads_of(const Operation& operation) {
  return std::visit([]<class Options>(const Options&) { return Traits<Options>::reads; }, operation);
}

bool by_channel(const Operation& operation, const Shape& input) {
  return std::visit(
      [&]<class Options>(const Options& options) { return Traits<Options>::by_channel(options, input); },
      operation);
}

void complete(Operation& operation) {
  std::visit([]<class Options>(Options& options) { Traits<Options>::complete(options); }, operation);
}

Shape infer(const Operation& operation, const LayerContext& layer) {
  return std::visit(
      [&]<class Options>(const Options& options) { return Traits<Options>::infer(options, layer); },
      operation);
}

std::vector<Parameter> parameters_of(const Operation& operation, const LayerContext& layer) {
  return std::visit(
      [&]<class Options>(const Options& options) { return Traits<Options>::parameters(options, layer); },
      operation);
}

std::uint64_t multiply_adds(const Operation& operation, const LayerContext& layer) {
  return std::visit(
      [&]<class Options>(const Options& options) { return Traits<Options>::multiply_adds(options, layer); },
      operation);
}

std::vector<Operation> operations_of_files() {
  std::vector<Operation> operations;
  add_operations<0>(operations);
  std::ranges::sort(operations, {}, [](const Operation& operation) { return name_of(operation); });
  return operations;
}

std::vector<FieldText> field_texts(const Operation& operation) {
  const auto texts = [](const auto& options) {
    std::vector<FieldText> all;
    const auto add = [&](const auto& value, const OperationField& field) {
      all.push_back({field, value_text(value), field.usual ? value_text(*field.usual) : ""});
    };
    Traits<std::remove_cvref_t<decltype(options)>>::fields(options, add);
    return all;
  };
  return std::visit(
      [&]<class Options>(const Options& options) {
        std::vector<FieldText> all = texts(options);
        const std::vector<FieldText> usual = texts(Options{});
        for (std::size_t i = 0; i < all.size(); ++i) {
          if (!all[i].field.usual) all[i].usual = usual[i].value;
        }
        return all;
      },
      operation);
}

}  // namespace lockstep
