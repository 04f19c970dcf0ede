#include "onnx/import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <variant>

#include "core/text/printable.h"
#include "graph/operations.h"
#include "lockstep/error.h"
#include "onnx/protobuf/adaptive_matrices.h"
#include "onnx/protobuf/imported_layers.h"
#include "onnx/protobuf/model_reader.h"
#include "onnx/protobuf/onnx_node.h"

namespace lockstep {
namespace {

using Extents = std::vector<std::int64_t>;

/// Stands for the batch size in a tensor's shape if the model leaves the batch size open.
constexpr std::int64_t any_batch = -3;
/// Maximum number of dimensions of a shape.
constexpr std::size_t max_rank = 16;

bool is_near(double a, double b) { return std::abs(a - b) <= 1e-5 * std::abs(b); }

double parse_decimal(const std::string& text) {
  double number = 0.0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Shortest decimal number that is stored as this float: 1e-5, not 9.99999974737875163555e-06.
double decimal(float stored) { return parse_decimal(fmt::format("{}", stored)); }

/// Shortest decimal momentum for which an ONNX model, which stores 1 - momentum, contains `kept`.
double momentum_of(float kept) {
  constexpr int most_digits = 17;  // of a double
  double momentum = 0.0;
  for (int digits = 1; digits <= most_digits; ++digits) {
    momentum = parse_decimal(fmt::format("{:.{}g}", 1.0 - static_cast<double>(kept), digits));
    if (static_cast<float>(1.0 - momentum) == kept) break;
  }
  return momentum;
}

/// Axes of a tensor with `rank` dimensions, ascending; negative axes are counted from the end.
Extents sorted_axes(Extents axes, std::int64_t rank) {
  for (std::int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  std::ranges::sort(axes);
  return axes;
}

/// Reads the nodes on which a graph's output depends, in their order.
class GraphReader {
 public:
  using Handler = GraphTensor (GraphReader::*)(const OnnxNode&);
  /// Functions that read a node of each supported operator.
  static const std::map<std::string, Handler>& handlers();

  GraphReader(const std::filesystem::path& file, const onnx::ModelProto& model,
              const OnnxImportOptions& options)
      : file_(file.string()),
        model_(model),
        graph_(model.graph()),
        options_(options),
        reader_(file),
        layers_(find_input()) {
    for (const onnx::TensorProto& tensor : graph_.initializer()) {
      define(tensor.name(), constant_of(tensor, tensor.name()));
    }
    count_readers();
  }

  OnnxImport run() {
    for (const onnx::NodeProto* proto : needed_) {
      const OnnxNode node(file_, *proto, tensors_, reader_);
      GraphTensor result = read(node, proto->domain());
      if (const auto* output = std::get_if<LayerOutput>(&result)) {
        layers_[output->layer].readers += readers_[node.output()] - 1;
      }
      define(node.output(), std::move(result));
    }
    OnnxImport result;
    for (const onnx::StringStringEntryProto& entry : model_.metadata_props())
      result.metadata.insert_or_assign(entry.key(), entry.value());
    result.notes = notes_;
    layers_.build(find_output(), options_.weights, result);
    return result;
  }

 private:
  using Kind = OperationPart::Kind;

  [[noreturn]] void refuse(const std::string& reason) const {
    throw Error(Category::data, fmt::format("{}: {}", file_, reason));
  }

  void define(const std::string& name, GraphTensor tensor) {
    if (!tensors_.emplace(name, std::move(tensor)).second)
      refuse(fmt::format("two tensors are called {}", in_quotes(name)));
  }

  GraphTensor constant_of(const onnx::TensorProto& tensor, const std::string& name) const {
    const Extents shape = reader_.shape(tensor);
    if (tensor.data_type() != onnx::TensorProto::INT64) return Constant{&tensor, name, shape};
    const bool few = shape.empty() || (shape.size() == 1 && static_cast<std::size_t>(shape[0]) <= max_rank);
    return few ? GraphTensor(Sizes{reader_.integers(tensor)}) : Constant{&tensor, name, shape};
  }

  /// Shape of a sample.
  Shape find_input() {
    std::set<std::string> initializers;
    for (const onnx::TensorProto& tensor : graph_.initializer()) initializers.insert(tensor.name());
    const onnx::ValueInfoProto* input = nullptr;
    for (const onnx::ValueInfoProto& each : graph_.input()) {
      if (initializers.contains(each.name())) continue;  // models before IR 4 list initializers as inputs
      if (input != nullptr) refuse("has several inputs: only models with one input can be imported");
      input = &each;
    }
    if (input == nullptr) refuse("has no input");
    if (has_preprocessing()) {
      refuse(
          "includes the preprocessing of samples, which a network file cannot; lockstep export without "
          "--with-preprocessing writes a model that can be imported");
    }
    const onnx::TypeProto::Tensor& type = input->type().tensor_type();
    if (type.elem_type() != onnx::TensorProto::FLOAT) {
      refuse(fmt::format("input {} has another type than float", in_quotes(input->name())));
    }
    const int rank = type.shape().dim_size();
    if (rank != 2 && rank != 4) {
      refuse(
          fmt::format("input {} has {}: only [batch, channels, rows, columns] and [batch, "
                      "columns] can be imported",
                      in_quotes(input->name()), counted(rank, "dimension")));
    }
    if (type.shape().dim(0).dim_value() > 0) batch_ = type.shape().dim(0).dim_value();
    define(input->name(), LayerOutput{0, rank == 2});
    if (options_.input) {
      if (rank == 2 && (options_.input->height != 1 || options_.input->width != 1)) {
        throw Error(Category::usage, fmt::format("{} takes tables, not images: give Cx1x1", file_), "input");
      }
      return *options_.input;
    }
    std::array<int, 3> extents = {1, 1, 1};
    for (int i = 1; i < rank; ++i) {
      const std::int64_t extent = type.shape().dim(i).dim_value();
      if (extent < 1 || extent > static_cast<std::int64_t>(max_values)) {
        refuse(fmt::format("input {} has no fixed size: give the size of the samples with --input",
                           in_quotes(input->name())));
      }
      extents[static_cast<std::size_t>(i - 1)] = static_cast<int>(extent);
    }
    const Shape shape{extents[0], extents[1], extents[2]};
    if (1.0 * shape.channels * shape.height * shape.width > static_cast<double>(max_values)) {
      refuse(fmt::format("input {} has too many values", in_quotes(input->name())));
    }
    return shape;
  }

  /// Whether `lockstep export --with-preprocessing` wrote the model, recognised by the names of nodes.
  bool has_preprocessing() const {
    return model_.producer_name() == "lockstep" &&
           std::ranges::any_of(graph_.node(), [](const onnx::NodeProto& node) {
             return (node.op_type() == "Cast" && node.name() == "input.float") ||
                    (node.op_type() == "Sub" && node.name() == "input.mean") ||
                    (node.op_type() == "Div" && node.name() == "input.std");
           });
  }

  /// Finds the nodes on which the first output depends, and counts readers of tensors.
  void count_readers() {
    if (graph_.output().empty()) refuse("has no output");
    if (graph_.output_size() > 1) {
      notes_.push_back(fmt::format("of {} outputs of the model, the first is used", graph_.output_size()));
    }
    readers_[graph_.output(0).name()] = 1;
    for (int i = graph_.node_size(); i-- > 0;) {
      const onnx::NodeProto& node = graph_.node(i);
      if (std::ranges::none_of(node.output(), [&](const auto& name) { return readers_.contains(name); })) {
        continue;
      }
      needed_.push_back(&node);
      for (const std::string& input : node.input()) {
        if (!input.empty()) readers_[input] += reads_values(node, input);
      }
    }
    std::ranges::reverse(needed_);
  }

  /// Whether a node reads more of an input than its shape or type.
  static bool reads_values(const onnx::NodeProto& node, const std::string& input) {
    return node.op_type() != "Shape" && (node.op_type() != "CastLike" || input == node.input(0));
  }

  int find_output() {
    const std::string& name = graph_.output(0).name();
    const auto found = tensors_.find(name);
    const auto* output = found == tensors_.end() ? nullptr : std::get_if<LayerOutput>(&found->second);
    if (output == nullptr || output->layer == 0) {
      refuse(fmt::format("output {} is not the result of a layer", in_quotes(name)));
    }
    const Shape& shape = layers_.shape(output->layer);
    if (shape.height != 1 || shape.width != 1) {
      refuse(fmt::format("output {} has {}x{}x{} values, but a classifier gives one number per class",
                         in_quotes(name), shape.channels, shape.height, shape.width));
    }
    return output->layer;
  }

  GraphTensor read(const OnnxNode& node, const std::string& domain) {
    const auto found = handlers().find(node.op());
    if (found == handlers().end() || !(domain.empty() || domain == "ai.onnx")) {
      node.refuse(fmt::format("this operator{} is not supported; docs/onnx.md lists those that are",
                              domain.empty() ? "" : " of the domain " + in_quotes(domain)));
    }
    return (this->*found->second)(node);
  }

  /// Values of the parameter `from`, which must have this shape; empty unless weights are read. Refuses to
  /// read a parameter twice, because layers of a network cannot share parameters.
  std::vector<float> parameter(const OnnxNode& node, const Constant& from, const Extents& shape) {
    if (from.shape != shape) {
      node.refuse(fmt::format("{} is [{}], not [{}]", in_quotes(from.name), fmt::join(from.shape, ","),
                              fmt::join(shape, ",")));
    }
    if (!from.name.empty() && !read_.insert(from.name).second) {
      node.refuse(
          fmt::format("{} is read by another layer, too: layers cannot share weights", in_quotes(from.name)));
    }
    if (!options_.weights) return {};
    std::vector<float> values = reader_.floats(*from.tensor);
    if (from.transposed_rows == 0) return values;
    const auto rows = static_cast<std::size_t>(from.transposed_rows), columns = values.size() / rows;
    std::vector<float> transposed(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) transposed[i] = values[i % rows * columns + i / rows];
    return transposed;
  }
  /// Name of the layer of the weights: "layer1.0.conv1" for "layer1.0.conv1.weight"; empty for names that do
  /// not end with `suffix`.
  static std::string layer_name(const Constant& weights, const std::string& suffix) {
    const std::string& name = weights.name;
    return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : "";
  }
  int features(const OnnxNode& node, std::int64_t count) const {
    if (count < 1 || count > max_features) {
      node.refuse(fmt::format("{} features or channels are not from 1 to {}", count, max_features));
    }
    return static_cast<int>(count);
  }

  LayerOutput layer(const OnnxNode& node, Operation operation, const std::vector<LayerOutput>& inputs) {
    std::vector<int> ids;
    for (const LayerOutput& input : inputs) ids.push_back(input.layer);
    return {layers_.add(node, {std::move(operation), ids, {}}), inputs.front().flat};
  }

  // Layers with parameters.

  GraphTensor conv(const OnnxNode& node) {
    const LayerOutput x = node.image();
    const Constant& weight = node.constant(1);
    if (weight.shape.size() != 4 || weight.shape[2] != weight.shape[3]) {
      node.refuse(
          fmt::format("its weights are [{}]: only two-dimensional convolutions with square windows are "
                      "supported",
                      fmt::join(weight.shape, ",")));
    }
    Conv2d options{.channels = features(node, weight.shape[0]),
                   .kernel = node.common_option("kernel_shape", 2, weight.shape[2]),
                   .stride = node.common_option("strides", 2, 1),
                   .dilation = node.common_option("dilations", 2, 1),
                   .groups = features(node, node.integer("group", 1)),
                   .bias = has_bias(node)};
    options.padding = padding(node, options);
    if (weight.shape[1] * options.groups != layers_.shape(x.layer).channels) {
      node.refuse(fmt::format("its weights are for {}, not {}",
                              counted(weight.shape[1] * options.groups, "channel"),
                              layers_.shape(x.layer).channels));
    }
    ImportedLayer layer{options, {x.layer}, layer_name(weight, ".weight")};
    const Extents shape{options.channels, weight.shape[1], options.kernel, options.kernel};
    layer.values.push_back(parameter(node, weight, shape));
    if (options.bias) layer.values.push_back(parameter(node, node.constant(2), {options.channels}));
    return LayerOutput{layers_.add(node, std::move(layer)), false};
  }
  /// Whether a layer has a bias. Exporters may write zeros for a missing bias.
  bool has_bias(const OnnxNode& node) const {
    if (!node.has_input(2)) return false;
    const auto* filled = node.input_as<Filled>(2);
    if (filled != nullptr && filled->value != 0.0) node.refuse("its bias is a constant, not a parameter");
    return filled == nullptr;
  }
  /// Padding of a convolution, which must be the same on all sides.
  int padding(const OnnxNode& node, const Conv2d& conv) const {
    const std::string automatic = node.text("auto_pad", "NOTSET");
    if (automatic == "NOTSET") return node.common_option("pads", 4, 0);
    if (automatic == "VALID") return 0;
    const int reach = conv.dilation * (conv.kernel - 1);
    if (!automatic.starts_with("SAME") || conv.stride != 1 || reach % 2 != 0) {
      node.refuse(
          fmt::format("auto_pad {} with this window would pad its sides differently", in_quotes(automatic)));
    }
    return reach / 2;
  }

  /// Adds a linear layer; `weight` is [outputs, inputs].
  GraphTensor linear(const OnnxNode& node, LayerOutput x, const Constant& weight, const Constant* bias) {
    if (!x.flat || weight.shape.size() != 2) node.refuse(OnnxNode::needs_matrix);
    if (weight.shape[1] != layers_.shape(x.layer).channels) {
      node.refuse(fmt::format("its weights are for {}, not {}", counted(weight.shape[1], "value"),
                              layers_.shape(x.layer).channels));
    }
    const Linear options{.features = features(node, weight.shape[0]), .bias = bias != nullptr};
    ImportedLayer layer{options, {x.layer}, layer_name(weight, ".weight")};
    layer.values.push_back(parameter(node, weight, weight.shape));
    if (bias != nullptr) {
      layer.values.push_back(parameter(node, without_ones(*bias, 1), {options.features}));
    }
    return LayerOutput{layers_.add(node, std::move(layer)), true};
  }
  static Constant transposed(Constant matrix) {
    if (matrix.shape.size() == 2) {
      matrix.transposed_rows = matrix.transposed_rows == 0 ? matrix.shape[0] : 0;
      std::swap(matrix.shape[0], matrix.shape[1]);
    }
    return matrix;
  }
  /// Drops leading dimensions of 1, which broadcasting adds, until `rank` are left.
  static Constant without_ones(Constant constant, std::size_t rank) {
    Extents& shape = constant.shape;
    while (shape.size() > rank && shape.front() == 1) shape.erase(shape.begin());
    return constant;
  }
  GraphTensor gemm(const OnnxNode& node) {
    if (node.real("alpha", 1.0F) != 1.0F || node.real("beta", 1.0F) != 1.0F ||
        node.integer("transA", 0) != 0) {
      node.refuse("alpha and beta other than 1, and transA, are not supported");
    }
    const Constant& b = node.constant(1);
    return linear(node, node.layer_output(), node.integer("transB", 0) != 0 ? b : transposed(b),
                  has_bias(node) ? &node.constant(2) : nullptr);
  }
  GraphTensor mat_mul(const OnnxNode& node) {
    if (const auto* part = node.find_part(1, Kind::narrowed)) return adaptive_pool(node, *part);
    const LayerOutput x = node.layer_output();
    const Constant& matrix = node.constant(1);
    if (!x.flat && matrix.shape.size() == 2 && matrix.shape[0] == layers_.shape(x.layer).width &&
        has_values(matrix, adaptive_columns)) {
      return OperationPart{Kind::narrowed, x, node.label(), static_cast<double>(matrix.shape[1])};
    }
    return linear(node, x, transposed(matrix), nullptr);
  }
  /// Reads the second matrix product of an adaptive pooling that `lockstep export` wrote.
  GraphTensor adaptive_pool(const OnnxNode& node, const OperationPart& part) {
    const Constant& rows = node.constant(0);
    const int size = node.option("size", static_cast<std::int64_t>(part.factor));
    const Extents expected{size, layers_.shape(part.of.layer).height};
    if (rows.shape != expected || !has_values(rows, adaptive_rows)) node.refuse_part(part);
    return layer(node, AdaptiveAvgPool2d{size}, {part.of});
  }
  /// Whether a matrix has the values that `expected` returns for its two extents.
  bool has_values(const Constant& matrix, std::vector<float> (*expected)(std::int64_t, std::int64_t)) const {
    if (matrix.transposed_rows != 0) return false;
    const std::vector<float> values = reader_.floats(*matrix.tensor);  // first: checks the extents
    return values == expected(matrix.shape[0], matrix.shape[1]);
  }

  GraphTensor batch_normalization(const OnnxNode& node) {
    const LayerOutput x = node.layer_output();
    const BatchNorm2d options{.eps = decimal(node.real("epsilon", 1e-5F)),
                              .momentum = momentum_of(node.real("momentum", 0.9F))};
    ImportedLayer layer{options, {x.layer}, layer_name(node.constant(1), ".weight")};
    if (layer.name.empty()) layer.name = layer_name(node.constant(3), ".running_mean");
    for (std::size_t i = 1; i <= 4; ++i) {
      layer.values.push_back(parameter(node, node.constant(i), {layers_.shape(x.layer).channels}));
    }
    return LayerOutput{layers_.add(node, std::move(layer)), x.flat};
  }

  LayerOutput add_group_norm(const OnnxNode& node, LayerOutput x, std::int64_t groups, double eps) {
    const auto channels = static_cast<std::size_t>(layers_.shape(x.layer).channels);
    ImportedLayer layer{GroupNorm{.groups = features(node, groups), .eps = eps}, {x.layer}, {}};
    if (options_.weights) {
      layer.values = {std::vector<float>(channels, 1.0F), std::vector<float>(channels, 0.0F)};
    }
    return {layers_.add(node, std::move(layer)), x.flat};
  }
  GraphTensor instance_normalization(const OnnxNode& node) {
    const double eps = decimal(node.real("epsilon", 1e-5F));
    if (const auto* part = node.find_part(0, Kind::grouped)) {
      if (options_.weights && (!has_values(node, 1, 1.0F) || !has_values(node, 2, 0.0F))) {
        node.refuse("weights of the groups of a group normalization are not supported");
      }
      return OperationPart{Kind::normalized, part->of, node.label(), part->factor, eps};
    }
    const LayerOutput x = node.image();
    return with_weights(node, add_group_norm(node, x, layers_.shape(x.layer).channels, eps));
  }
  GraphTensor group_normalization(const OnnxNode& node) {
    const LayerOutput x = node.layer_output();
    const double eps = decimal(node.real("epsilon", 1e-5F));
    return with_weights(node, add_group_norm(node, x, node.integer("num_groups", 1), eps));
  }
  LayerOutput with_weights(const OnnxNode& node, LayerOutput norm) {
    ImportedLayer& layer = layers_[norm.layer];
    layer.name = layer_name(node.constant(1), ".weight");
    layer.values.clear();
    for (const std::size_t i : {1, 2}) {
      layer.values.push_back(parameter(node, node.constant(i), {layer.shape.channels}));
    }
    layer.given = {true, true};
    return norm;
  }
  bool has_values(const OnnxNode& node, std::size_t input, float value) const {
    if (const auto* filled = node.input_as<Filled>(input)) return filled->value == value;
    const std::vector<float> values = reader_.floats(*node.constant(input).tensor);
    return std::ranges::all_of(values, [&](float each) { return each == value; });
  }

  // Element-wise operations, and their parts.

  GraphTensor relu(const OnnxNode& node) {
    return layer(node, Activation{Activation::Kind::relu}, {node.layer_output()});
  }
  GraphTensor clip(const OnnxNode& node) {
    const LayerOutput x = node.layer_output();
    const double min = node.number_or_attribute("min", 1, -1.0F),
                 max = node.number_or_attribute("max", 2, -1.0F);
    if (min != 0.0 || max != 6.0) node.refuse("only min 0 and max 6 are supported, which is ReLU6");
    return layer(node, Activation{Activation::Kind::relu6}, {x});
  }
  GraphTensor gelu(const OnnxNode& node) {
    if (node.text("approximate", "none") != "none") node.refuse("the approximation by tanh is not supported");
    return layer(node, Activation{Activation::Kind::gelu}, {node.layer_output()});
  }
  GraphTensor sigmoid(const OnnxNode& node) {
    return OperationPart{Kind::sigmoid, node.layer_output(), node.label()};
  }
  GraphTensor erf(const OnnxNode& node) {
    const auto* part = node.find_part(0, Kind::scaled);
    if (part == nullptr || !is_near(part->factor, 1.0 / std::numbers::sqrt2)) {
      node.refuse("this operator is supported as a part of GELU only");
    }
    return OperationPart{Kind::erf, part->of, node.label()};
  }
  GraphTensor div(const OnnxNode& node) { return scaled(node, 0, 1.0 / node.number(1)); }
  GraphTensor scaled(const OnnxNode& node, std::size_t input, double factor) {
    const auto* part = node.input_as<OperationPart>(input);
    if (part == nullptr) return OperationPart{Kind::scaled, node.layer_output(input), node.label(), factor};
    if (part->kind != Kind::twice_gelu || !is_near(factor, 0.5)) node.refuse_part(*part);
    return layer(node, Activation{Activation::Kind::gelu}, {part->of});
  }
  GraphTensor mul(const OnnxNode& node) {
    if (const auto x = affine(node, 0)) return *x;
    for (const std::size_t i : {0, 1}) {
      if (const auto factor = node.find_number(i)) return scaled(node, 1 - i, *factor);
    }
    for (const std::size_t i : {0, 1}) {
      const auto* part = node.input_as<OperationPart>(i);
      if (part == nullptr) continue;
      if (const auto* x = node.input_as<LayerOutput>(1 - i); x != nullptr && *x == part->of) {
        if (part->kind == Kind::sigmoid) return layer(node, Activation{Activation::Kind::silu}, {*x});
        if (part->kind == Kind::erf_plus_one) return OperationPart{Kind::twice_gelu, *x, node.label()};
      }
      const auto* half = node.find_part(1 - i, Kind::scaled);
      if (part->kind == Kind::erf_plus_one && half != nullptr && half->of == part->of &&
          is_near(half->factor, 0.5)) {
        return layer(node, Activation{Activation::Kind::gelu}, {part->of});
      }
    }
    node.refuse("products of layers are supported as a part of SiLU and GELU only");
  }

  GraphTensor add(const OnnxNode& node) {
    if (const auto x = affine(node, 1)) return *x;
    for (const std::size_t i : {0, 1}) {
      if (const auto term = node.find_number(i)) return add_number(node, 1 - i, *term);
    }
    const LayerOutput a = node.layer_output(0), b = node.layer_output(1);
    if (a.flat != b.flat) node.refuse("adds [batch, values] and images");
    return layer(node, Add{}, {a, b});
  }
  GraphTensor add_number(const OnnxNode& node, std::size_t input, double term) {
    const auto* part = node.input_as<OperationPart>(input);
    if (part == nullptr) node.refuse("adds a number, which no layer does");
    if (part->kind != Kind::erf || term != 1.0) node.refuse_part(*part);
    return OperationPart{Kind::erf_plus_one, part->of, node.label()};
  }
  /// Reads a node that multiplies the result of a layer by constants (`which` 0) or adds constants to it (1):
  /// makes the constants the layer's weight or bias, and returns the layer's result. Returns nullopt if the
  /// node has no constants, or only a single number. Refuses other constants.
  std::optional<LayerOutput> affine(const OnnxNode& node, std::size_t which) {
    for (const std::size_t i : {0, 1}) {
      const auto* from = node.input_as<Constant>(i);
      if (from == nullptr) continue;
      const auto* x = node.input_as<LayerOutput>(1 - i);
      if (x != nullptr && set_affine(node, *x, *from, which)) return *x;
      if (node.find_number(i)) continue;
      node.layer_output(1 - i);  // refuses an input that is not a layer's result
      node.refuse(
          "constants are supported as bias of a convolution or linear layer, and as weights of a group "
          "normalization only");
    }
    return std::nullopt;
  }
  /// Uses constants per channel as the weight (`which` 0) or bias (1) of the layer that computes x, if this
  /// layer has none and no other node reads the layer's result. Returns whether the constants were used.
  bool set_affine(const OnnxNode& node, LayerOutput x, const Constant& from, std::size_t which) {
    ImportedLayer& layer = layers_[x.layer];
    const std::int64_t channels = layer.shape.channels;
    const Extents expected = x.flat ? Extents{channels} : Extents{channels, 1, 1};
    Constant values = without_ones(from, expected.size());
    const bool fits = layer.readers == 1 && values.shape == expected;
    values.shape = {channels};
    auto* linear = std::get_if<Linear>(&layer.operation);
    auto* conv = std::get_if<Conv2d>(&layer.operation);
    if (fits && which == 1 && ((linear != nullptr && !linear->bias) || (conv != nullptr && !conv->bias))) {
      (linear != nullptr ? linear->bias : conv->bias) = true;
      layer.values.push_back(parameter(node, values, {channels}));
      return true;
    }
    // A weight after the bias would multiply the bias, too.
    const bool is_free = !layer.given[which] && !layer.given[1];
    if (fits && is_free && std::holds_alternative<GroupNorm>(layer.operation)) {
      layer.given[which] = true;
      if (which == 0) layer.name = layer_name(from, ".weight");
      std::vector<float> read = parameter(node, values, {channels});
      if (options_.weights) layer.values[which] = std::move(read);
      return true;
    }
    return false;
  }

  GraphTensor concat(const OnnxNode& node) {
    if (node.input_as<Sizes>(0) != nullptr) return concat_sizes(node);
    std::vector<LayerOutput> inputs;
    for (std::size_t i = 0; i < node.inputs(); ++i) inputs.push_back(node.layer_output(i));
    const std::int64_t axis = node.integer("axis", 1), rank = inputs.front().flat ? 2 : 4;
    if (axis != 1 && axis != 1 - rank) node.refuse(fmt::format("axis {} is not that of the channels", axis));
    // A layer has at most max_inputs inputs; more inputs are joined by several layers.
    LayerOutput joined = inputs.front();
    for (std::size_t i = 1; i < inputs.size();) {
      std::vector<LayerOutput> some{joined};
      while (i < inputs.size() && some.size() < max_inputs) some.push_back(inputs[i++]);
      joined = layer(node, Concat{}, some);
    }
    return joined;
  }

  GraphTensor dropout(const OnnxNode& node) {
    const LayerOutput x = node.layer_output();
    const auto ratio = static_cast<float>(node.number_or_attribute("ratio", 1, 0.5F));
    return layer(node, Dropout{decimal(ratio)}, {x});
  }
  GraphTensor softmax(const OnnxNode& node) {
    const std::int64_t axis = node.integer("axis", -1);
    const bool last = node.output() == graph_.output(0).name();
    const LayerOutput x = node.layer_output();
    if (!last || !x.flat || (axis != 1 && axis != -1)) node.refuse("is supported as the last node only");
    notes_.push_back(fmt::format("{} at the end is left out: the network gives logits", node.op()));
    return x;
  }
  /// Exporters write equal parameters once; each further parameter is an Identity node whose output has the
  /// name of the parameter.
  GraphTensor identity(const OnnxNode& node) {
    GraphTensor x = node.tensor(0);
    if (auto* constant = std::get_if<Constant>(&x)) constant->name = node.output();
    return x;
  }
  GraphTensor cast(const OnnxNode& node) { return converted(node, node.integer("to", 0)); }
  /// Converts to the type of the second input: float for results of layers, int64 for sizes.
  GraphTensor cast_like(const OnnxNode& node) {
    if (node.input_as<Filled>(1) != nullptr) node.refuse("the type of its second input is not known");
    std::int64_t to = onnx::TensorProto::FLOAT;
    if (node.input_as<Sizes>(1) != nullptr) to = onnx::TensorProto::INT64;
    if (const auto* constant = node.input_as<Constant>(1)) to = constant->tensor->data_type();
    return converted(node, to);
  }
  static GraphTensor converted(const OnnxNode& node, std::int64_t to) {
    const bool of_sizes = node.input_as<Sizes>(0) != nullptr && to == onnx::TensorProto::INT64;
    if (to != onnx::TensorProto::FLOAT && !of_sizes) node.refuse("converts to another type than float");
    return node.tensor(0);
  }

  // Pooling.

  /// `options`: padding by a Pad node before the pooling, and whether padding counts in an average.
  template <class Pool>
  GraphTensor pool(const OnnxNode& node, LayerOutput x, Pool options) {
    options.kernel = node.common_option("kernel_shape", 2, 0);
    options.stride = node.common_option("strides", 2, 1);
    options.ceil_mode = node.integer("ceil_mode", 0) != 0;
    if (node.common_option("dilations", 2, 1) != 1) node.refuse("dilations other than 1 are not supported");
    if (const std::string automatic = node.text("auto_pad", "NOTSET");
        automatic != "NOTSET" && automatic != "VALID") {
      node.refuse(fmt::format("auto_pad {} is not supported", in_quotes(automatic)));
    }
    set_padding(node, options, layers_.shape(x.layer));
    if constexpr (requires { options.count_include_pad; }) {
      if (options.padding == 0 && !options.ceil_mode) options.count_include_pad = true;  // the usual value
    }
    if (options.kernel == 1 && options.stride == 1 && options.padding == 0) return x;
    return layer(node, options, {x});
  }
  /// Sets the padding. Accepts larger padding after the last pixel than before the first only if it amounts
  /// to ceil_mode, which some exporters write in this way.
  template <class Pool>
  void set_padding(const OnnxNode& node, Pool& options, const Shape& input) const {
    Extents pads = node.integers("pads", Extents(4, 0));
    if (pads.size() != 4 || pads[0] != pads[1]) {
      node.refuse(fmt::format("pads {} differ between rows and columns", fmt::join(pads, ",")));
    }
    if (options.padding > 0 && (pads[0] != 0 || options.ceil_mode)) {
      node.refuse("padding and ceil_mode after a Pad node are not supported");
    }
    for (std::int64_t& pad : pads) pad = node.option("pads", pad) + options.padding;
    options.padding = static_cast<int>(pads[0]);
    if (pads[2] == pads[0] && pads[3] == pads[0]) return;
    options.ceil_mode = true;
    if (node.integer("count_include_pad", 0) != 0)
      node.refuse("pads that differ and count are not supported");
    for (const auto& [size, end] : {std::pair(input.height, pads[2]), std::pair(input.width, pads[3])}) {
      const Shape output = ImportedLayers::infer_shape(node, options, {{{1, size, size}}});
      const std::int64_t reach = std::int64_t{output.height - 1} * options.stride + options.kernel;
      if (end != std::max<std::int64_t>(options.padding, reach - size - options.padding)) {
        node.refuse(fmt::format("pads {} are neither equal nor those of ceil_mode", fmt::join(pads, ",")));
      }
    }
  }
  GraphTensor max_pool(const OnnxNode& node) { return pool(node, node.image(), MaxPool2d{}); }
  GraphTensor average_pool(const OnnxNode& node) {
    if (const auto* part = node.find_part(0, Kind::padded)) {
      return pool(node, part->of, AvgPool2d{.padding = static_cast<int>(part->factor)});
    }
    const Extents kernel = node.integers("kernel_shape", {});
    if (kernel.size() == 2 && kernel[0] != kernel[1]) {
      const LayerOutput x = node.image();
      if (const int size = tiles(node, kernel, layers_.shape(x.layer)); size > 0) {
        return layer(node, AdaptiveAvgPool2d{size}, {x});
      }
    }
    return pool(node, node.image(),
                AvgPool2d{.count_include_pad = node.integer("count_include_pad", 0) != 0});
  }
  /// Reads a node that pads images with the same number of zeros on all sides.
  GraphTensor pad(const OnnxNode& node) {
    const LayerOutput x = node.image();
    const Extents& pads = node.sizes(1);
    const std::int64_t p = pads.size() == 8 ? pads[2] : 0;
    const bool is_constant = node.text("mode", "constant") == "constant" && !node.has_input(3);
    if (!is_constant || pads != Extents{0, 0, p, p, 0, 0, p, p} ||
        (node.has_input(2) && node.number(2) != 0.0)) {
      node.refuse("only the same number of zeros on all sides of images is supported");
    }
    if (p == 0) return x;
    return OperationPart{Kind::padded, x, node.label(), static_cast<double>(node.option("pads", p))};
  }
  /// Size of the adaptive pooling that is equivalent to a pooling with windows of `kernel`; 0 if there is
  /// none.
  static int tiles(const OnnxNode& node, const Extents& kernel, const Shape& input) {
    if (kernel[0] < 1 || kernel[0] > input.height) return 0;
    const int count = input.height / static_cast<int>(kernel[0]);
    const bool divides = input.height % count == 0 && input.width % count == 0 &&
                         kernel == Extents{input.height / count, input.width / count};
    const bool is_plain = node.integers("strides", {1, 1}) == kernel &&
                          node.integers("pads", Extents(4, 0)) == Extents(4, 0) &&
                          node.integers("dilations", {1, 1}) == Extents{1, 1};
    return divides && is_plain ? count : 0;
  }
  GraphTensor global_average_pool(const OnnxNode& node) {
    return layer(node, AdaptiveAvgPool2d{1}, {node.image()});
  }
  GraphTensor reduce_mean(const OnnxNode& node) {
    const LayerOutput x = node.image();
    if (sorted_axes(node.axes(), 4) != Extents{2, 3}) {
      node.refuse("only the mean over all pixels is supported");
    }
    const LayerOutput mean = layer(node, AdaptiveAvgPool2d{1}, {x});
    return node.integer("keepdims", 1) != 0 ? mean : flattened(node, mean);
  }

  // Shapes.

  LayerOutput flattened(const OnnxNode& node, LayerOutput x) {
    return x.flat ? x : LayerOutput{layer(node, Flatten{}, {x}).layer, true};
  }
  GraphTensor flatten(const OnnxNode& node) {
    const LayerOutput x = node.layer_output();
    const std::int64_t axis = node.integer("axis", 1);
    if (axis != 1 && axis != (x.flat ? -1 : -3)) node.refuse(fmt::format("axis {} is not supported", axis));
    return flattened(node, x);
  }
  /// Sizes of the dimensions of a layer's result. `batch`: size of the first dimension.
  Extents extents(LayerOutput x, std::int64_t batch) const {
    const Shape& shape = layers_.shape(x.layer);
    if (x.flat) return {batch, shape.channels};
    return {batch, shape.channels, shape.height, shape.width};
  }
  /// Same for the node's first input.
  Extents extents(const OnnxNode& node) const {
    if (const auto* found = node.input_as<Constant>(0)) return found->shape;
    if (const auto* found = node.input_as<Filled>(0)) return found->shape;
    return extents(node.layer_output(), batch_);
  }
  GraphTensor reshape(const OnnxNode& node) {
    Extents to = node.sizes(1);
    if (const auto* part = node.input_as<OperationPart>(0)) return from_groups(node, *part, to);
    if (node.input_as<Sizes>(0) != nullptr && to == Extents{-1}) return node.tensor(0);
    const LayerOutput x = node.layer_output(), image{x.layer, false};
    if (!resolve(to, x)) {
      node.refuse(
          fmt::format("the shape [{}] does not keep the samples apart", fmt::join(node.sizes(1), ",")));
    }
    if (to.size() == 2) return flattened(node, x);
    if (to == extents(image, 0)) return image;
    if (to.size() == 3) return OperationPart{Kind::grouped, x, node.label(), static_cast<double>(to[1])};
    node.refuse(fmt::format("the shape [{}] is not supported", fmt::join(node.sizes(1), ",")));
  }
  /// Completes the shape to which a layer's result is reshaped: 0 for the batch, sizes for all other
  /// dimensions. Returns false if the first dimension is not the batch, or the sizes do not fit.
  bool resolve(Extents& to, LayerOutput x) const {
    if (to.size() < 2) return false;
    const Extents from = extents(x, 0);
    std::int64_t known = 1;
    std::int64_t* open = nullptr;
    for (std::size_t i = 1; i < to.size(); ++i) {
      if (to[i] == 0 && i < from.size()) to[i] = from[i];
      if (to[i] == -1 && open == nullptr) {
        open = &to[i];
      } else if (to[i] < 1 || to[i] > static_cast<std::int64_t>(max_values)) {
        return false;
      } else {
        known *= to[i];
        if (known > static_cast<std::int64_t>(max_values)) return false;
      }
    }
    const auto size = static_cast<std::int64_t>(layers_.shape(x.layer).size());
    if (open != nullptr && size % known == 0) *open = size / known;
    const bool is_whole = open != nullptr ? size % known == 0 : size == known;
    const bool is_batch = to[0] == 0 || to[0] == batch_ || (to[0] == -1 && open == nullptr);
    to[0] = 0;
    return is_whole && is_batch;
  }
  /// Reads the reshape at the end of a group normalization, which restores the shape of the input.
  GraphTensor from_groups(const OnnxNode& node, const OperationPart& part, Extents to) {
    if (part.kind != Kind::normalized) node.refuse_part(part);
    if (!resolve(to, part.of) || to != extents(part.of, 0)) {
      node.refuse("a group normalization must end with the shape of its input");
    }
    return add_group_norm(node, part.of, static_cast<std::int64_t>(part.factor), part.eps);
  }
  GraphTensor transpose(const OnnxNode& node) {
    const auto* matrix = node.input_as<Constant>(0);
    if (matrix == nullptr) node.refuse("is supported for weights only");
    if (matrix->shape.size() != 2 || node.integers("perm", {1, 0}) != Extents{1, 0}) {
      node.refuse("is supported for matrices only");
    }
    return transposed(*matrix);
  }
  GraphTensor squeeze(const OnnxNode& node) {
    const Extents axes = sorted_axes(node.axes(), 4);
    if (node.input_as<Sizes>(0) != nullptr) return node.tensor(0);
    const LayerOutput x = node.image();
    const Shape& shape = layers_.shape(x.layer);
    if (axes != Extents{2, 3} || shape.height != 1 || shape.width != 1) {
      node.refuse("is supported for the last two dimensions of a single pixel only");
    }
    return flattened(node, x);
  }
  GraphTensor unsqueeze(const OnnxNode& node) {
    const Extents axes = node.axes();
    if (node.input_as<Sizes>(0) != nullptr) return node.tensor(0);
    if (const auto* found = node.input_as<Constant>(0)) {
      Constant result = *found;
      const auto rank = static_cast<std::int64_t>(result.shape.size() + axes.size());
      for (const std::int64_t axis : sorted_axes(axes, rank)) {
        if (axis < 0 || axis > static_cast<std::int64_t>(result.shape.size()))
          node.refuse("an axis is out of range");
        result.shape.insert(result.shape.begin() + axis, 1);
      }
      return result;
    }
    const LayerOutput output = node.layer_output();
    if (!output.flat || sorted_axes(axes, 4) != Extents{2, 3})
      node.refuse("is supported from [batch, values] to single pixels only");
    return LayerOutput{output.layer, false};
  }
  GraphTensor shape(const OnnxNode& node) {
    const Extents all = extents(node);
    const auto rank = static_cast<std::int64_t>(all.size());
    const auto position = [&](const char* attribute, std::int64_t fallback) {
      const std::int64_t value = node.integer(attribute, fallback);
      return std::clamp<std::int64_t>(value < 0 ? value + rank : value, 0, rank);
    };
    const std::int64_t start = position("start", 0), end = std::max(start, position("end", rank));
    return Sizes{{all.begin() + start, all.begin() + end}};
  }
  GraphTensor gather(const OnnxNode& node) {
    const Extents& from = node.sizes(0);
    Sizes result;
    for (std::int64_t index : node.sizes(1)) {
      index += index < 0 ? static_cast<std::int64_t>(from.size()) : 0;
      if (index < 0 || index >= static_cast<std::int64_t>(from.size()))
        node.refuse("an index is out of range");
      result.values.push_back(from[static_cast<std::size_t>(index)]);
    }
    return result;
  }
  GraphTensor expand(const OnnxNode& node) {
    const Extents& shape = node.sizes(1);
    if (node.input_as<Sizes>(0) != nullptr && shape == Extents{1}) return node.tensor(0);
    return Filled{node.number(0), shape};
  }
  GraphTensor range(const OnnxNode& node) {
    const auto whole = [&](std::size_t input) {
      const Extents& found = node.sizes(input);
      if (found.size() != 1) node.refuse(fmt::format("input {} is not a single number", input + 1));
      return found[0];
    };
    if (whole(2) != 1) node.refuse("only steps of 1 are supported");
    Sizes result;
    for (std::int64_t i = whole(0); i < whole(1); ++i) {
      if (result.values.size() == max_rank) node.refuse("has more numbers than a shape");
      result.values.push_back(i);
    }
    return result;
  }
  GraphTensor sub(const OnnxNode& node) {
    const Extents &a = node.sizes(0), &b = node.sizes(1);
    if (a.size() != 1 || b.size() != 1) node.refuse("is supported for sizes only");
    constexpr auto limit = static_cast<std::int64_t>(max_values);
    if (std::min(a[0], b[0]) < -limit || std::max(a[0], b[0]) > limit) node.refuse("a size is too large");
    return Sizes{{a[0] - b[0]}};
  }
  GraphTensor concat_sizes(const OnnxNode& node) const {
    Sizes result;
    for (std::size_t i = 0; i < node.inputs(); ++i) {
      const Extents& more = node.sizes(i);
      result.values.insert(result.values.end(), more.begin(), more.end());
      if (result.values.size() > max_rank) node.refuse("joins more numbers than a shape has");
    }
    return result;
  }
  GraphTensor constant_node(const OnnxNode& node) {
    if (const onnx::TensorProto* value = node.tensor_attribute("value")) {
      return constant_of(*value, "");
    }
    if (node.has("value_ints")) return Sizes{node.integers("value_ints", {})};
    if (node.has("value_int")) return Sizes{{node.integer("value_int", 0)}};
    if (!node.has("value_float")) node.refuse("only constants of numbers are supported");
    return Filled{node.real("value_float", 0.0F), {}};
  }

  std::string file_;
  const onnx::ModelProto& model_;
  const onnx::GraphProto& graph_;
  const OnnxImportOptions& options_;
  TensorReader reader_;
  std::int64_t batch_ = any_batch;  ///< batch size in the model's shapes
  OnnxNode::Tensors tensors_;
  ImportedLayers layers_;
  std::vector<const onnx::NodeProto*> needed_;
  std::map<std::string, int> readers_;  ///< [tensor] number of readers
  std::set<std::string> read_;          ///< names of the parameters that were read
  std::vector<std::string> notes_;
};

const std::map<std::string, GraphReader::Handler>& GraphReader::handlers() {
  static const std::map<std::string, Handler> all = {
      {"Add", &GraphReader::add},
      {"AveragePool", &GraphReader::average_pool},
      {"BatchNormalization", &GraphReader::batch_normalization},
      {"Cast", &GraphReader::cast},
      {"CastLike", &GraphReader::cast_like},
      {"Clip", &GraphReader::clip},
      {"Concat", &GraphReader::concat},
      {"Constant", &GraphReader::constant_node},
      {"Conv", &GraphReader::conv},
      {"Div", &GraphReader::div},
      {"Dropout", &GraphReader::dropout},
      {"Erf", &GraphReader::erf},
      {"Expand", &GraphReader::expand},
      {"Flatten", &GraphReader::flatten},
      {"Gather", &GraphReader::gather},
      {"Gelu", &GraphReader::gelu},
      {"Gemm", &GraphReader::gemm},
      {"GlobalAveragePool", &GraphReader::global_average_pool},
      {"GroupNormalization", &GraphReader::group_normalization},
      {"Identity", &GraphReader::identity},
      {"InstanceNormalization", &GraphReader::instance_normalization},
      {"LogSoftmax", &GraphReader::softmax},
      {"MatMul", &GraphReader::mat_mul},
      {"MaxPool", &GraphReader::max_pool},
      {"Mul", &GraphReader::mul},
      {"Pad", &GraphReader::pad},
      {"Range", &GraphReader::range},
      {"ReduceMean", &GraphReader::reduce_mean},
      {"Relu", &GraphReader::relu},
      {"Reshape", &GraphReader::reshape},
      {"Shape", &GraphReader::shape},
      {"Sigmoid", &GraphReader::sigmoid},
      {"Softmax", &GraphReader::softmax},
      {"Squeeze", &GraphReader::squeeze},
      {"Sub", &GraphReader::sub},
      {"Transpose", &GraphReader::transpose},
      {"Unsqueeze", &GraphReader::unsqueeze},
  };
  return all;
}

}  // namespace

OnnxImport parse_onnx(std::span<const std::byte> bytes, const std::filesystem::path& file,
                      const OnnxImportOptions& options) {
  const onnx::ModelProto model = parse_onnx_model(bytes, file);
  return GraphReader(file, model, options).run();
}

OnnxImport import_onnx(const std::filesystem::path& file, const OnnxImportOptions& options) {
  const onnx::ModelProto model = read_onnx_model(file);
  return GraphReader(file, model, options).run();
}

std::vector<std::string> imported_operators() {
  std::vector<std::string> names;
  for (const auto& [name, handler] : GraphReader::handlers()) names.push_back(name);
  return names;
}

}  // namespace lockstep
