#include "onnx/export.h"

#include <fmt/format.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <numbers>

#include "core/files/atomic_file.h"
#include "core/text/printable.h"
#include "core/version.h"
#include "graph/operations.h"
#include "lockstep/error.h"
#include "onnx/protobuf/adaptive_matrices.h"
#include "onnx/protobuf/graph_writer.h"

namespace lockstep {
namespace {

constexpr int opset = 17;
constexpr int ir_version = 8;                                        // from ONNX 1.12, like the opset
constexpr std::size_t max_model_bytes = (std::size_t{1} << 31) - 1;  // limit of protobuf messages

/// Tensor of the model: [batch, channels, rows, columns] or, if flat, [batch, channels].
struct ModelTensor {
  std::string name;
  bool flat = false;
};

using Extents = std::vector<std::int64_t>;

/// Padding of a pooling layer in one direction, in ONNX's terms.
struct PoolPadding {
  std::int64_t begin = 0;
  std::int64_t end = 0;  ///< above `begin` if the last window of ceil_mode extends further

  template <class Pool>
  PoolPadding(const Pool& pool, int size, int count)
      : begin(pool.padding),
        end(std::max(pool.padding, (count - 1) * pool.stride + pool.kernel - size - pool.padding)) {}
};

/// Writes the layers of a network into an ONNX graph. `write` has an overload for every operation.
class NetworkExporter {
 public:
  NetworkExporter(const Network& network, const ModelFile& weights, const OnnxExportOptions& options,
                  onnx::GraphProto& graph)
      : network_(network),
        weights_(weights),
        options_(options),
        graph_(graph, options.softmax ? "probabilities" : "logits") {
    find_needed_layers();
  }

  OnnxExportSummary run() {
    const auto& layers = network_.layers();
    tensors_.resize(layers.size());
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (readers_[i] == 0) continue;
      current_ = i;
      tensors_[i] =
          std::visit([&](const auto& operation) { return write(operation, layers[i]); }, layers[i].operation);
    }
    std::string output = flat(network_.output_id());
    if (options_.softmax) output = graph_.add("Softmax", "softmax", {output}, {{"axis", std::int64_t{1}}});
    const std::int64_t classes = network_.classes();
    graph_.output(output, {&classes, 1});
    return summary_;
  }

 private:
  using Layer = Network::Layer;
  struct Weights {
    std::vector<float> weight;
    std::vector<float> bias;  ///< empty: none
  };

  /// Counts the readers of each layer on which the logits depend. The user counts as a reader of the output.
  void find_needed_layers() {
    const auto& layers = network_.layers();
    readers_.assign(layers.size(), 0);
    readers_[static_cast<std::size_t>(network_.output_id())] = 1;
    readers_.front() += 1;
    for (std::size_t i = layers.size(); i-- > 0;) {
      if (readers_[i] == 0) continue;
      for (const int input : layers[i].inputs) ++readers_[static_cast<std::size_t>(input)];
    }
  }

  std::span<const float> parameter(const Layer& layer, std::size_t number) const {
    const Parameter& found = network_.parameters()[static_cast<std::size_t>(layer.parameters.at(number))];
    return weights_.floats(found.name, found.shape);
  }
  std::string parameter_constant(const Layer& layer, std::size_t number) {
    const Parameter& found = network_.parameters()[static_cast<std::size_t>(layer.parameters.at(number))];
    return graph_.constant(found.name, found.shape, weights_.floats(found.name, found.shape));
  }

  const ModelTensor& tensor(int layer) const { return tensors_[static_cast<std::size_t>(layer)]; }
  const Shape& shape_of(int layer) const { return network_.layers()[static_cast<std::size_t>(layer)].shape; }
  /// Name of a layer's result in the shape [batch, channels].
  std::string flat(int layer) {
    const ModelTensor& found = tensor(layer);
    return found.flat
               ? found.name
               : graph_.add("Flatten", found.name + ".flat", {found.name}, {{"axis", std::int64_t{1}}});
  }
  /// Name of a layer's result in the shape [batch, channels, rows, columns].
  std::string image(int layer) {
    const ModelTensor& found = tensor(layer);
    return found.flat ? reshape(found.name, found.name + ".image", shape_of(layer)) : found.name;
  }
  /// Reshapes each sample. Returns the name of the result.
  std::string reshape(const std::string& tensor, const std::string& name, const Shape& shape) {
    return reshape(tensor, name, Extents{0, shape.channels, shape.height, shape.width});
  }
  std::string reshape(const std::string& tensor, const std::string& name, const Extents& extents) {
    return graph_.add("Reshape", name, {tensor, graph_.constant(name + ".shape", extents)});
  }
  /// Shape of per-channel constants that are broadcast over a tensor.
  static Extents per_channel(std::size_t channels, bool flat) {
    const auto count = static_cast<std::int64_t>(channels);
    return flat ? Extents{count} : Extents{count, 1, 1};
  }

  ModelTensor write(const Input& /*input*/, const Layer& layer) {
    const auto& [channels, height, width] = layer.shape;
    ModelTensor tensor{"input", height == 1 && width == 1};
    const bool pixels = options_.preprocessing && options_.preprocessing->pixels;
    graph_.input("input", pixels ? onnx::TensorProto::UINT8 : onnx::TensorProto::FLOAT,
                 tensor.flat ? Extents{channels} : Extents{channels, height, width});
    if (!options_.preprocessing) return tensor;
    if (pixels) {
      tensor.name =
          graph_.add("Cast", "input.float", {tensor.name}, {{"to", std::int64_t{onnx::TensorProto::FLOAT}}});
      tensor.name = graph_.add("Div", "input.scaled", {tensor.name, graph_.scalar("pixel_max", 255.0F)});
    }
    tensor = normalize(tensor, "Sub", "mean", options_.preprocessing->mean);
    return normalize(tensor, "Div", "std", options_.preprocessing->deviation);
  }
  ModelTensor normalize(const ModelTensor& tensor, const char* op, const char* name,
                        const std::vector<double>& values) {
    if (values.empty()) return tensor;
    const auto channels = static_cast<std::size_t>(network_.input_shape().channels);
    if (values.size() != 1 && values.size() != channels) {
      throw Error(Category::usage,
                  fmt::format("{} do not fit {}: give one for each, or one for all",
                              counted(values.size(), "number"), counted(channels, "channel")),
                  name);
    }
    const std::vector<float> numbers(values.begin(), values.end());
    const std::string constant = graph_.constant(name, per_channel(values.size(), tensor.flat), numbers);
    return {graph_.add(op, fmt::format("input.{}", name), {tensor.name, constant}), tensor.flat};
  }

  /// The batch norm that is the only reader of the current layer, if batch norm is folded; else null.
  const Layer* folded_norm() {
    if (!options_.fold_batch_norm || readers_[current_] != 1) return nullptr;
    const auto& layers = network_.layers();
    for (std::size_t i = current_ + 1; i < layers.size(); ++i) {
      if (readers_[i] == 0 || !std::holds_alternative<BatchNorm2d>(layers[i].operation)) continue;
      if (layers[i].inputs.front() != static_cast<int>(current_)) continue;
      folded_.insert(&layers[i]);
      return &layers[i];
    }
    return nullptr;
  }

  void fold(const Layer& norm, Weights& into) const {
    const double eps = std::get<BatchNorm2d>(norm.operation).eps;
    const auto scale = parameter(norm, 0), shift = parameter(norm, 1);
    const auto mean = parameter(norm, 2), variance = parameter(norm, 3);
    into.bias.resize(scale.size());
    const std::size_t row = into.weight.size() / scale.size();
    for (std::size_t c = 0; c < scale.size(); ++c) {
      const double factor = scale[c] / std::sqrt(variance[c] + eps);
      for (float& value : std::span(into.weight).subspan(c * row, row)) {
        value = static_cast<float>(value * factor);
      }
      into.bias[c] = static_cast<float>(shift[c] + (into.bias[c] - mean[c]) * factor);
    }
  }

  /// Adds the weights of a Conv or Gemm node, changed by the batch norm that is folded into the layer, if
  /// any. Returns the names of the node's inputs.
  std::vector<std::string> with_weights(const std::string& input, const Layer& layer, bool has_bias) {
    const Parameter& weight = network_.parameters()[static_cast<std::size_t>(layer.parameters.front())];
    const auto values = parameter(layer, 0);
    Weights weights{{values.begin(), values.end()}, {}};
    if (has_bias) {
      const auto bias = parameter(layer, 1);
      weights.bias.assign(bias.begin(), bias.end());
    }
    if (const Layer* norm = folded_norm()) fold(*norm, weights);
    std::vector<std::string> inputs{input, graph_.constant(weight.name, weight.shape, weights.weight)};
    if (!weights.bias.empty()) {
      inputs.push_back(
          graph_.constant(layer.name + ".bias", per_channel(weights.bias.size(), true), weights.bias));
    }
    return inputs;
  }

  ModelTensor write(const Conv2d& conv, const Layer& layer) {
    const std::int64_t kernel = conv.kernel, stride = conv.stride, padding = conv.padding;
    const std::int64_t dilation = conv.dilation, groups = conv.groups;
    return {graph_.add("Conv", layer.name, with_weights(image(layer.inputs[0]), layer, conv.bias),
                       {{"kernel_shape", Extents{kernel, kernel}},
                        {"strides", Extents{stride, stride}},
                        {"pads", Extents(4, padding)},
                        {"dilations", Extents{dilation, dilation}},
                        {"group", groups}})};
  }

  ModelTensor write(const Linear& linear, const Layer& layer) {
    return {graph_.add("Gemm", layer.name, with_weights(flat(layer.inputs[0]), layer, linear.bias),
                       {{"transB", std::int64_t{1}}}),
            true};
  }

  ModelTensor write(const BatchNorm2d& norm, const Layer& layer) {
    const ModelTensor& input = tensor(layer.inputs[0]);
    if (folded_.contains(&layer)) {
      ++summary_.folded_batch_norms;
      return input;
    }
    ++summary_.batch_norms;
    return {graph_.add("BatchNormalization", layer.name,
                       {input.name, parameter_constant(layer, 0), parameter_constant(layer, 1),
                        parameter_constant(layer, 2), parameter_constant(layer, 3)},
                       {{"epsilon", static_cast<float>(norm.eps)},
                        {"momentum", static_cast<float>(1.0 - norm.momentum)}}),
            input.flat};
  }

  /// Opset 17 has no group normalization, so the channels of a group become one channel of an instance
  /// normalization without weights.
  ModelTensor write(const GroupNorm& norm, const Layer& layer) {
    const ModelTensor& input = tensor(layer.inputs[0]);
    const std::string& name = layer.name;
    const auto groups = static_cast<std::size_t>(norm.groups);
    const std::vector<float> ones(groups, 1.0F), zeros(groups, 0.0F);
    const Extents of_group = per_channel(groups, true);
    std::string x = reshape(input.name, name + ".groups", Extents{0, norm.groups, -1});
    x = graph_.add("InstanceNormalization", name + ".normalized",
                   {x, graph_.constant(name + ".ones", of_group, ones),
                    graph_.constant(name + ".zeros", of_group, zeros)},
                   {{"epsilon", static_cast<float>(norm.eps)}});
    x = input.flat ? reshape(x, name + ".channels", Extents{0, layer.shape.channels})
                   : reshape(x, name + ".channels", layer.shape);
    const Extents of_channel = per_channel(static_cast<std::size_t>(layer.shape.channels), input.flat);
    x = graph_.add("Mul", name + ".scaled",
                   {x, graph_.constant(name + ".weight", of_channel, parameter(layer, 0))});
    return {graph_.add("Add", name, {x, graph_.constant(name + ".bias", of_channel, parameter(layer, 1))}),
            input.flat};
  }

  ModelTensor write(const Activation& activation, const Layer& layer) {
    const ModelTensor& input = tensor(layer.inputs[0]);
    return {write_activation(activation.kind, input.name, layer.name), input.flat};
  }
  std::string write_activation(Activation::Kind kind, const std::string& x, const std::string& name) {
    const auto number = [&](const char* what, double value) {
      return graph_.scalar(fmt::format("{}.{}", name, what), static_cast<float>(value));
    };
    switch (kind) {
      case Activation::Kind::relu:
        return graph_.add("Relu", name, {x});
      case Activation::Kind::relu6:
        return graph_.add("Clip", name, {x, number("min", 0.0), number("max", 6.0)});
      case Activation::Kind::silu:
        return graph_.add("Mul", name, {x, graph_.add("Sigmoid", name + ".sigmoid", {x})});
      case Activation::Kind::gelu:
        break;
    }
    std::string erf = graph_.add("Div", name + ".scaled", {x, number("root", std::numbers::sqrt2)});
    erf = graph_.add("Erf", name + ".erf", {erf});
    erf = graph_.add("Add", name + ".sum", {erf, number("one", 1.0)});
    erf = graph_.add("Mul", name + ".product", {x, erf});
    return graph_.add("Mul", name, {erf, number("half", 0.5)});
  }

  template <class Pool>
  static std::vector<OnnxAttribute> window(const Pool& pool, const PoolPadding& rows,
                                           const PoolPadding& columns) {
    const std::int64_t kernel = pool.kernel, stride = pool.stride;
    return {{"kernel_shape", Extents{kernel, kernel}},
            {"strides", Extents{stride, stride}},
            {"pads", Extents{rows.begin, columns.begin, rows.end, columns.end}}};
  }

  ModelTensor write(const MaxPool2d& pool, const Layer& layer) {
    const Shape& input = shape_of(layer.inputs[0]);
    return {graph_.add("MaxPool", layer.name, {image(layer.inputs[0])},
                       window(pool, PoolPadding(pool, input.height, layer.shape.height),
                              PoolPadding(pool, input.width, layer.shape.width)))};
  }

  /// The divisor counts padding only up to `padding`, not what lies beyond it in windows of ceil_mode. If
  /// there are such windows, the padding becomes a separate node, because ONNX counts either all padding or
  /// none.
  ModelTensor write(const AvgPool2d& pool, const Layer& layer) {
    const Shape& input = shape_of(layer.inputs[0]);
    PoolPadding rows(pool, input.height, layer.shape.height);
    PoolPadding columns(pool, input.width, layer.shape.width);
    std::string x = image(layer.inputs[0]);
    bool counts = pool.count_include_pad && pool.padding > 0;
    if (counts && (rows.end > rows.begin || columns.end > columns.begin)) {
      const std::int64_t p = pool.padding;
      x = graph_.add("Pad", layer.name + ".padded",
                     {x, graph_.constant(layer.name + ".pads", Extents{0, 0, p, p, 0, 0, p, p})});
      for (PoolPadding* padding : {&rows, &columns}) {
        padding->begin -= p;
        padding->end -= p;
      }
      counts = false;
    }
    std::vector<OnnxAttribute> attributes = window(pool, rows, columns);
    attributes.emplace_back("count_include_pad", std::int64_t{counts});
    return {graph_.add("AveragePool", layer.name, {x}, attributes)};
  }

  /// Pooling with windows of unequal sizes becomes two matrix products: one averages rows, one columns.
  ModelTensor write(const AdaptiveAvgPool2d& pool, const Layer& layer) {
    const Shape& input = shape_of(layer.inputs[0]);
    const std::string x = image(layer.inputs[0]);
    const std::string& name = layer.name;
    if (pool.size == 1) return {graph_.add("GlobalAveragePool", name, {x})};
    const std::int64_t size = pool.size, height = input.height, width = input.width;
    if (height % size == 0 && width % size == 0) {
      const Extents kernel{height / size, width / size};
      return {graph_.add("AveragePool", name, {x}, {{"kernel_shape", kernel}, {"strides", kernel}})};
    }
    const std::string rows = graph_.constant(name + ".rows", {size, height}, adaptive_rows(size, height));
    const std::string columns =
        graph_.constant(name + ".columns", {width, size}, adaptive_columns(width, size));
    return {graph_.add("MatMul", name, {rows, graph_.add("MatMul", name + ".narrow", {x, columns})})};
  }

  ModelTensor write(const Flatten& /*flatten*/, const Layer& layer) { return {flat(layer.inputs[0]), true}; }

  ModelTensor write(const Add& /*add*/, const Layer& layer) { return join("Add", layer, {}); }
  ModelTensor write(const Concat& /*concat*/, const Layer& layer) {
    return join("Concat", layer, {{"axis", std::int64_t{1}}});
  }
  ModelTensor join(const char* op, const Layer& layer, const std::vector<OnnxAttribute>& attributes) {
    const bool all_flat = std::ranges::all_of(layer.inputs, [&](int input) { return tensor(input).flat; });
    std::vector<std::string> inputs;
    for (const int input : layer.inputs) inputs.push_back(all_flat ? flat(input) : image(input));
    return {graph_.add(op, layer.name, inputs, attributes), all_flat};
  }

  /// Leaves dropout out, because it has no effect in evaluation.
  ModelTensor write(const Dropout& /*dropout*/, const Layer& layer) {
    ++summary_.dropouts;
    return tensor(layer.inputs[0]);
  }

  const Network& network_;
  const ModelFile& weights_;
  const OnnxExportOptions& options_;
  GraphWriter graph_;
  std::vector<int> readers_;  ///< [layer] number of readers; 0: the layer is left out
  std::vector<ModelTensor> tensors_;
  std::set<const Layer*> folded_;  ///< batch norms that are folded into the layer before them
  std::size_t current_ = 0;        ///< layer that is being written
  OnnxExportSummary summary_;
};

/// Passes protobuf's output on to a file. Stores exceptions, which must not pass through protobuf.
class AtomicFileStream : public google::protobuf::io::CopyingOutputStream {
 public:
  explicit AtomicFileStream(AtomicFile& file) : file_(file) {}
  bool Write(const void* buffer, int size) override {  // NOLINT(readability-identifier-naming)
    try {
      file_.write({static_cast<const std::byte*>(buffer), static_cast<std::size_t>(size)});
      return true;
    } catch (...) {
      failure_ = std::current_exception();
      return false;
    }
  }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  AtomicFile& file_;
  std::exception_ptr failure_;
};

void write_message(const std::filesystem::path& path, const onnx::ModelProto& model) {
  AtomicFile file(path);
  AtomicFileStream target(file);
  {
    google::protobuf::io::CopyingOutputStreamAdaptor stream(&target);
    model.SerializeToZeroCopyStream(&stream);
  }
  target.rethrow();
  file.commit();
}

}  // namespace

OnnxExportSummary export_onnx(const std::filesystem::path& file, const Network& network,
                              const ModelFile& weights, const OnnxExportOptions& options) {
  onnx::ModelProto model;
  model.set_ir_version(ir_version);
  model.set_producer_name("lockstep");
  model.set_producer_version(version());
  model.add_opset_import()->set_version(opset);
  model.mutable_graph()->set_name("network");
  for (const auto& [key, value] : options.metadata) {
    onnx::StringStringEntryProto& entry = *model.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  OnnxExportSummary summary = NetworkExporter(network, weights, options, *model.mutable_graph()).run();
  summary.bytes = model.ByteSizeLong();
  if (summary.bytes > max_model_bytes) {
    throw Error(Category::resource, fmt::format("{}: the model has {} bytes, but ONNX files have at most {}",
                                                file.string(), summary.bytes, max_model_bytes));
  }
  write_message(file, model);
  return summary;
}

}  // namespace lockstep
