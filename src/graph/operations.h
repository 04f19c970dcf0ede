#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "lockstep/field.h"
#include "lockstep/network.h"

/// Traits of every operation: everything that the project knows about an operation except its arithmetic.
/// Network files, shape inference, cropping, tables, fingerprints and plans are derived from the traits. This
/// header does not include fmt, because the CUDA compiler reads it.

/// The only list of operations. Backends declare a function `plan` for each entry.
#define LOCKSTEP_OPERATIONS(ENTRY) \
  ENTRY(Input)                     \
  ENTRY(Conv2d)                    \
  ENTRY(Linear)                    \
  ENTRY(BatchNorm2d)               \
  ENTRY(GroupNorm)                 \
  ENTRY(Activation)                \
  ENTRY(MaxPool2d)                 \
  ENTRY(AvgPool2d)                 \
  ENTRY(AdaptiveAvgPool2d)         \
  ENTRY(Flatten)                   \
  ENTRY(Add)                       \
  ENTRY(Concat)                    \
  ENTRY(Dropout)

namespace lockstep {

/// Maximum number of values of one image in any layer.
constexpr std::size_t max_values = std::size_t{1} << 28;
/// Maximum values of options in network files.
constexpr int max_features = 1 << 20;
constexpr int max_window = 4096;

/// Number of inputs of an operation. An operation with max = 0 is not available in network files.
struct InputCount {
  std::size_t min = 1;
  std::size_t max = 1;
};

/// Input pixels on which an output pixel depends. Determines which pixels may be cropped.
enum class Reads {
  window,       ///< pixels of a sliding window: the options have kernel, stride and padding
  same,         ///< the pixel at the same position
  same_of_all,  ///< the pixel at the same position; not cropped, as the operation numbers or counts pixels
  all,
};

/// Whether and how a table of layers shows an option.
enum class Show {
  unusual,  ///< name and value, unless the value is the usual one
  size,     ///< always, as "3x3"
  value,    ///< always, without the name
  never,    ///< not shown, because the layer's shape and parameters imply the value
};

/// Names of kinds of initial values in network files, fingerprints and saved models.
inline Names choices_of(Initializer::Kind) {
  return {"standard", "zeros", "ones", "normal", "uniform", "he_fan_out"};
}
/// Whether initial values of this kind have a scale: {"normal": SCALE} in network files.
constexpr bool has_scale(Initializer::Kind kind) {
  return kind == Initializer::Kind::normal || kind == Initializer::Kind::uniform;
}

/// Description of one option of an operation: int, double, bool or Initializer. The default value is that of
/// the member of the operation's struct.
struct OperationField {
  const char* name;            ///< name in network files
  int min = 0;                 ///< integers only
  int max = max_window;        ///< integers only
  bool required = false;       ///< whether network files must contain the option
  const char* word = nullptr;  ///< word for the number of classes in network files; null: none
  Show show = Show::unusual;
  std::optional<int> usual = {};     ///< the usual value; empty: the default value
  const char* usual_text = nullptr;  ///< the default in words; null: the default as a value
  const char* shown_as = nullptr;    ///< replaces name and value in tables of layers
};

/// A layer under construction.
struct LayerContext {
  const std::string& name;  ///< prefix of the names of the layer's parameters
  std::span<const Shape> inputs = {};
  Shape output = {};  ///< set for multiply_adds only

  const Shape& input() const { return inputs[0]; }
  /// Throws Error(usage) with the layer's name and the concatenated parts.
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    refuse_with((text(parts) + ...));
  }
  void expect_positive(int count, const char* what) const {
    if (count < 1) refuse(what, " must be at least 1, not ", count);
  }
  void expect_vector() const;
  /// Refuses an eps (the number added to variances) that is not a normal positive float.
  void expect_eps(double eps) const {
    if (!(eps >= static_cast<double>(std::numeric_limits<float>::min()))) {
      refuse("eps ", eps, " must be at least 1.2e-38");
    }
  }

  // Parts of messages.
  static std::string text(const Shape& shape);  ///< "3x28x28"
  static std::string text(double value);
  static std::string text(int value) { return std::to_string(value); }
  static std::string text(const std::string& value) { return value; }

 private:
  [[noreturn]] void refuse_with(const std::string& reason) const;
};

/// A window that slides over an image.
struct SlidingWindow {
  int kernel = 1;
  int stride = 1;
  int padding = 0;
  int dilation = 1;
  bool ceil_mode = false;
};
/// Output shape of a window that slides over the layer's input. Refuses windows that do not fit.
Shape slide(const LayerContext& layer, int channels, const SlidingWindow& window);

/// Weight and bias with PyTorch's shapes: [output, ...], [output].
std::vector<Parameter> weight_and_bias(const LayerContext& layer,
                                       const std::vector<std::int64_t>& weight_shape, Initializer weight,
                                       bool with_bias);
/// Weight and bias of a normalization, each of shape [channels of the input]; biases begin as zeros. Refuses
/// initial weights that depend on the number of inputs or outputs.
std::vector<Parameter> scale_and_shift(const LayerContext& layer, Initializer weight);

/// Traits of an operation without parameters whose output has the shape of its only input.
struct DefaultTraits {
  static constexpr InputCount inputs = {1, 1};
  /// Calls field(option, OperationField) for each option. Implementations bind all members of the struct, so
  /// that code with a new member does not compile until fields() describes the member.
  template <class Options>
  static void fields(Options& /*options*/, auto&& /*field*/) {
    static_assert(std::is_empty_v<Options>, "options need fields()");
  }
  /// Whether channel c of the output depends only on channel c of the input and this channel's parameters, so
  /// that any range of channels can be computed separately.
  static bool by_channel(const auto& /*options*/, const Shape& /*input*/) { return false; }
  /// Fills in options whose values are implied by other options.
  static void complete(auto& /*options*/) {}
  /// Shape of the output. Refuses options and inputs that do not match.
  static Shape infer(const auto& /*options*/, const LayerContext& layer) { return layer.input(); }
  /// Parameters in the order in which plans pass them to operations.
  static std::vector<Parameter> parameters(const auto& /*options*/, const LayerContext& /*layer*/) {
    return {};
  }
  /// Number of multiply-adds of the forward pass for one image. Counts padding and ignores cropping, as
  /// papers and torchvision do.
  static std::uint64_t multiply_adds(const auto& /*options*/, const LayerContext& /*layer*/) { return 0; }
};

/// Traits of an operation. `Options` is the operation's struct in lockstep/network.h. Each specialization
/// defines
///   name     name in network files, tables and errors
///   prefix   prefix of the numbered names of layers
///   names    instead of name and prefix: a pair of both for each value of options.kind, in their order
///   reads    see Reads
/// and overrides members of DefaultTraits that do not apply to the operation.
template <class Options>
struct Traits;

template <>
struct Traits<Input> : DefaultTraits {
  static constexpr auto name = "input";
  static constexpr auto prefix = "input";
  static constexpr InputCount inputs = {0, 0};
  static constexpr Reads reads = Reads::all;
  static Shape infer(const Input&, const LayerContext& layer) { layer.refuse("a network has one input"); }
};

template <>
struct Traits<Conv2d> : DefaultTraits {
  static constexpr auto name = "conv2d";
  static constexpr auto prefix = "conv";
  static constexpr Reads reads = Reads::window;

  static void fields(auto& options, auto&& field) {
    auto& [channels, kernel, stride, padding, dilation, groups, bias, weight, layer_name] = options;
    field(channels,
          {.name = "channels", .min = 1, .max = max_features, .required = true, .show = Show::never});
    field(kernel, {.name = "kernel", .min = 1, .show = Show::size});
    field(stride, {.name = "stride", .min = 1});
    field(padding, {.name = "padding"});
    field(dilation, {.name = "dilation", .min = 1});
    field(groups, {.name = "groups", .min = 1, .max = max_features});
    field(bias, {.name = "bias", .show = Show::never});
    field(weight, {.name = "weight", .show = Show::never});
  }
  static Shape infer(const Conv2d& conv, const LayerContext& layer) {
    layer.expect_positive(conv.channels, "channels");
    layer.expect_positive(conv.groups, "groups");
    const int channels = layer.input().channels;
    if (channels % conv.groups != 0 || conv.channels % conv.groups != 0) {
      layer.refuse(conv.groups, " groups do not divide ", channels, " input and ", conv.channels,
                   " output channels");
    }
    return slide(
        layer, conv.channels,
        {.kernel = conv.kernel, .stride = conv.stride, .padding = conv.padding, .dilation = conv.dilation});
  }
  static std::vector<Parameter> parameters(const Conv2d& conv, const LayerContext& layer) {
    return weight_and_bias(layer,
                           {conv.channels, layer.input().channels / conv.groups, conv.kernel, conv.kernel},
                           conv.weight, conv.bias);
  }
  static bool by_channel(const Conv2d& conv, const Shape& input) {
    return conv.groups > 1 && conv.groups == input.channels && conv.groups == conv.channels;
  }
  static std::uint64_t multiply_adds(const Conv2d& conv, const LayerContext& layer) {
    const auto taps = static_cast<std::uint64_t>(conv.kernel) * static_cast<std::uint64_t>(conv.kernel);
    return layer.output.size() * taps * static_cast<std::uint64_t>(layer.input().channels / conv.groups);
  }
};

template <>
struct Traits<Linear> : DefaultTraits {
  static constexpr auto name = "linear";
  static constexpr auto prefix = "fc";
  static constexpr Reads reads = Reads::all;

  static void fields(auto& options, auto&& field) {
    auto& [features, bias, weight, layer_name] = options;
    field(features, {.name = "features",
                     .min = 1,
                     .max = max_features,
                     .required = true,
                     .word = "classes",
                     .show = Show::never});
    field(bias, {.name = "bias", .show = Show::never});
    field(weight, {.name = "weight", .show = Show::never});
  }
  static Shape infer(const Linear& linear, const LayerContext& layer) {
    layer.expect_vector();
    layer.expect_positive(linear.features, "features");
    return {linear.features, 1, 1};
  }
  static std::vector<Parameter> parameters(const Linear& linear, const LayerContext& layer) {
    return weight_and_bias(layer, {linear.features, layer.input().channels}, linear.weight, linear.bias);
  }
  static std::uint64_t multiply_adds(const Linear&, const LayerContext& layer) {
    return layer.output.size() * layer.input().size();
  }
};

template <>
struct Traits<BatchNorm2d> : DefaultTraits {
  static constexpr auto name = "batch_norm2d";
  static constexpr auto prefix = "bn";
  static constexpr Reads reads = Reads::same_of_all;

  static void fields(auto& options, auto&& field) {
    auto& [eps, momentum, weight, layer_name] = options;
    field(eps, {.name = "eps"});
    field(momentum, {.name = "momentum"});
    field(weight, {.name = "weight", .show = Show::never});
  }
  static bool by_channel(const BatchNorm2d&, const Shape&) { return true; }
  static Shape infer(const BatchNorm2d& norm, const LayerContext& layer) {
    layer.expect_eps(norm.eps);
    if (!(norm.momentum > 0.0 && norm.momentum <= 1.0)) {
      layer.refuse("momentum ", norm.momentum, " must be in (0, 1]");
    }
    return layer.input();
  }
  static std::vector<Parameter> parameters(const BatchNorm2d& norm, const LayerContext& layer) {
    std::vector<Parameter> parameters = scale_and_shift(layer, norm.weight);
    parameters.push_back(
        {layer.name + ".running_mean", parameters[0].shape, Initializer::zeros(), norm.momentum});
    parameters.push_back(
        {layer.name + ".running_var", parameters[0].shape, Initializer::ones(), norm.momentum});
    return parameters;
  }
};

template <>
struct Traits<GroupNorm> : DefaultTraits {
  static constexpr auto name = "group_norm";
  static constexpr auto prefix = "gn";
  static constexpr Reads reads = Reads::same_of_all;

  static void fields(auto& options, auto&& field) {
    auto& [groups, eps, weight, layer_name] = options;
    field(groups, {.name = "groups", .min = 1, .max = max_features, .required = true});
    field(eps, {.name = "eps"});
    field(weight, {.name = "weight", .show = Show::never});
  }
  static Shape infer(const GroupNorm& norm, const LayerContext& layer) {
    layer.expect_positive(norm.groups, "groups");
    if (layer.input().channels % norm.groups != 0) {
      layer.refuse(norm.groups, " groups do not divide ", layer.input().channels, " channels");
    }
    layer.expect_eps(norm.eps);
    return layer.input();
  }
  static std::vector<Parameter> parameters(const GroupNorm& norm, const LayerContext& layer) {
    return scale_and_shift(layer, norm.weight);
  }
};

template <>
struct Traits<Activation> : DefaultTraits {
  static constexpr std::array names{std::pair{"relu", "relu"}, std::pair{"relu6", "relu6_"},
                                    std::pair{"silu", "silu"}, std::pair{"gelu", "gelu"}};
  static constexpr Reads reads = Reads::same;
  static void fields(auto& options, auto&& /*field*/) { [[maybe_unused]] auto& [kind] = options; }
  static bool by_channel(const Activation&, const Shape&) { return true; }
};

/// Common part of max and average pooling.
template <class Pool>
struct PoolTraits : DefaultTraits {
  static constexpr Reads reads = Reads::window;

  static bool by_channel(const Pool&, const Shape&) { return true; }
  static Shape infer(const Pool& pool, const LayerContext& layer) {
    if (pool.padding > pool.kernel / 2) {
      layer.refuse("padding ", pool.padding, " is more than half of the window ", pool.kernel);
    }
    return slide(
        layer, layer.input().channels,
        {.kernel = pool.kernel, .stride = pool.stride, .padding = pool.padding, .ceil_mode = pool.ceil_mode});
  }
  static void complete(Pool& pool) {
    if (pool.stride == 0) pool.stride = pool.kernel;
  }

 protected:
  static void window_fields(auto& kernel, auto& stride, auto& padding, auto& ceil_mode, auto&& field) {
    field(kernel, {.name = "kernel", .min = 1, .show = Show::size});
    field(stride, {.name = "stride", .min = 1, .usual = kernel, .usual_text = "as `kernel`"});
    field(padding, {.name = "padding"});
    field(ceil_mode, {.name = "ceil_mode"});
  }
};

template <>
struct Traits<MaxPool2d> : PoolTraits<MaxPool2d> {
  static constexpr auto name = "max_pool2d";
  static constexpr auto prefix = "max_pool";
  static void fields(auto& options, auto&& field) {
    auto& [kernel, stride, padding, ceil_mode] = options;
    window_fields(kernel, stride, padding, ceil_mode, field);
  }
};

template <>
struct Traits<AvgPool2d> : PoolTraits<AvgPool2d> {
  static constexpr auto name = "avg_pool2d";
  static constexpr auto prefix = "pool";
  static void fields(auto& options, auto&& field) {
    auto& [kernel, stride, padding, ceil_mode, count_include_pad] = options;
    window_fields(kernel, stride, padding, ceil_mode, field);
    field(count_include_pad, {.name = "count_include_pad", .shown_as = "without padding"});
  }
};

template <>
struct Traits<AdaptiveAvgPool2d> : DefaultTraits {
  static constexpr auto name = "adaptive_avg_pool2d";
  static constexpr auto prefix = "adaptive_pool";
  static constexpr Reads reads = Reads::all;
  static void fields(auto& options, auto&& field) {
    auto& [size] = options;
    field(size, {.name = "size", .min = 1, .show = Show::size});
  }
  static bool by_channel(const AdaptiveAvgPool2d&, const Shape&) { return true; }
  static Shape infer(const AdaptiveAvgPool2d& pool, const LayerContext& layer) {
    layer.expect_positive(pool.size, "size");
    return {layer.input().channels, pool.size, pool.size};
  }
};

template <>
struct Traits<Flatten> : DefaultTraits {
  static constexpr auto name = "flatten";
  static constexpr auto prefix = "flatten";
  static constexpr Reads reads = Reads::all;
  static Shape infer(const Flatten&, const LayerContext& layer) {
    return {static_cast<int>(layer.input().size()), 1, 1};
  }
};

template <>
struct Traits<Add> : DefaultTraits {
  static constexpr auto name = "add";
  static constexpr auto prefix = "add";
  static constexpr InputCount inputs = {2, 2};
  static constexpr Reads reads = Reads::same;
  static Shape infer(const Add&, const LayerContext& layer) {
    if (layer.inputs[0] != layer.inputs[1]) {
      layer.refuse("cannot add ", layer.inputs[0], " and ", layer.inputs[1]);
    }
    return layer.input();
  }
};

template <>
struct Traits<Concat> : DefaultTraits {
  static constexpr auto name = "concat";
  static constexpr auto prefix = "concat";
  static constexpr InputCount inputs = {2, max_inputs};
  static constexpr Reads reads = Reads::same;
  static Shape infer(const Concat&, const LayerContext& layer) {
    static_assert(max_inputs * max_values <= std::numeric_limits<int>::max());  // the sum of channels fits
    Shape shape = layer.input();
    for (const Shape& input : layer.inputs.subspan(1)) {
      if (input.height != shape.height || input.width != shape.width) {
        layer.refuse("cannot concatenate ", layer.input(), " and ", input);
      }
      shape.channels += input.channels;
    }
    return shape;
  }
};

template <>
struct Traits<Dropout> : DefaultTraits {
  static constexpr auto name = "dropout";
  static constexpr auto prefix = "dropout";
  static constexpr Reads reads = Reads::same_of_all;
  static void fields(auto& options, auto&& field) {
    auto& [p] = options;
    field(p, {.name = "p", .show = Show::value});
  }
  static Shape infer(const Dropout& dropout, const LayerContext& layer) {
    if (!(dropout.p >= 0.0 && dropout.p < 1.0)) {
      layer.refuse("the probability of dropping must be in [0, 1), not ", dropout.p);
    }
    return layer.input();
  }
};

// Traits of the operation that the variant holds.

std::string name_of(const Operation& operation);
std::string prefix_of(const Operation& operation);
InputCount inputs_of(const Operation& operation);
Reads reads_of(const Operation& operation);
bool by_channel(const Operation& operation, const Shape& input);
void complete(Operation& operation);
Shape infer(const Operation& operation, const LayerContext& layer);
std::vector<Parameter> parameters_of(const Operation& operation, const LayerContext& layer);
std::uint64_t multiply_adds(const Operation& operation, const LayerContext& layer);

/// All operations of network files with their default options, ordered by name.
std::vector<Operation> operations_of_files();

/// An option of an operation, with the option's value and usual value as text.
struct FieldText {
  OperationField field;
  std::string value;
  std::string usual;
};
std::vector<FieldText> field_texts(const Operation& operation);

/// Calls field(option, OperationField) for each option of the operation, const or not.
template <class AnyOperation, class Field>
void visit_fields(AnyOperation& operation, Field&& field) {
  std::visit(
      [&]<class Options>(Options& options) { Traits<std::remove_const_t<Options>>::fields(options, field); },
      operation);
}

}  // namespace lockstep
