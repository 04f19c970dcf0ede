#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lockstep/shape.h"

namespace lockstep {

/// Rule for the initial values of a parameter. Element i is a function of (seed, the parameter's position in
/// the network, i) only.
struct Initializer {
  enum class Kind { standard, zeros, ones, normal, uniform, he_fan_out } kind = Kind::standard;
  double scale = 0.0;  ///< normal: standard deviation; uniform: half width of the interval around 0

  /// PyTorch's default for convolution and linear layers: uniform(1 / sqrt(fan in)), biases too.
  static Initializer standard() { return {}; }
  static Initializer zeros() { return {Kind::zeros, 0.0}; }
  static Initializer ones() { return {Kind::ones, 0.0}; }
  /// `deviation`: standard deviation. Biases of the layer are zeros.
  static Initializer normal(double deviation) { return {Kind::normal, deviation}; }
  static Initializer uniform(double half_width) { return {Kind::uniform, half_width}; }
  /// normal(sqrt(2 / fan out)) (He et al., 2015), as in torchvision's networks. Biases are zeros.
  static Initializer he_fan_out() { return {Kind::he_fan_out, 0.0}; }
};

/// A tensor of the model, named and laid out as in a PyTorch state_dict.
struct Parameter {
  std::string name;                 ///< e.g. "conv1.weight"
  std::vector<std::int64_t> shape;  ///< e.g. {20, 1, 3, 3}: output, input, rows, columns
  Initializer initializer;
  /// For a running statistic: share by which each step moves it towards the observed mean. That is the mean
  /// over the step's samples of the values observed in their micro-batches. The statistic's "gradient" is the
  /// sum over micro-batches of samples * observed value. 0: the parameter is trained.
  double statistic_momentum = 0.0;

  std::size_t size() const;
  bool trained() const { return statistic_momentum == 0.0; }
};

// One struct per operation holds the operation's options, named as in PyTorch. `name` is the prefix of the
// parameters' names, and unique among layers with parameters; empty: layers are numbered by kind, conv1,
// conv2, ..., fc1, fc2, ...
struct Input {};
struct Conv2d {
  int channels = 0;  ///< output channels
  int kernel = 1;
  int stride = 1;
  int padding = 0;
  int dilation = 1;
  int groups = 1;  ///< must divide input and output channels; equal to both: depthwise
  bool bias = true;
  Initializer weight{};
  std::string name{};
};
struct Linear {
  int features = 0;  ///< output features
  bool bias = true;
  Initializer weight{};
  std::string name{};
};
/// Normalises each channel: in training by mean and variance over the samples and pixels of the micro-batch,
/// in evaluation by running statistics. The running variance is unbiased: n observed values contribute their
/// variance times n / (n - 1), or 1 for n = 1.
struct BatchNorm2d {
  double eps = 1e-5;
  double momentum = 0.1;
  Initializer weight = Initializer::ones();
  std::string name{};
};
/// Normalises each group of channels of an image by its mean and variance: the same in training and
/// evaluation, without running statistics, independent of the micro-batch's size.
struct GroupNorm {
  /// Must divide the channels. 1: layer normalization; equal to the channels: instance normalization.
  int groups = 0;
  double eps = 1e-5;
  Initializer weight = Initializer::ones();
  std::string name{};
};
struct Activation {
  enum class Kind {
    relu,
    relu6,
    silu,
    gelu  ///< exact, by the error function
  } kind = Kind::relu;
};
struct MaxPool2d {
  int kernel = 2;
  int stride = 0;          ///< 0: same as kernel
  int padding = 0;         ///< at most half of the kernel; padding is never the maximum
  bool ceil_mode = false;  ///< whether the output size is rounded up; no window starts in the right padding
};
struct AvgPool2d {
  int kernel = 2;
  int stride = 0;  ///< 0: same as kernel
  int padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;  ///< whether padding counts in the divisor
};
/// Averages size x size windows that cover the image evenly; 1: global average pooling.
struct AdaptiveAvgPool2d {
  int size = 1;
};
struct Flatten {};
struct Add {};
/// Concatenates the channels of its inputs.
struct Concat {};
/// In training, zeroes each element with probability p and divides the others by 1 - p; which elements are
/// zeroed depends on (seed, epoch, sample, element) only.
struct Dropout {
  double p = 0.5;
};

using Operation = std::variant<Input, Conv2d, Linear, BatchNorm2d, GroupNorm, Activation, MaxPool2d,
                               AvgPool2d, AdaptiveAvgPool2d, Flatten, Add, Concat, Dropout>;

class Network;

/// Output of a layer of a network under construction. A small handle, valid as long as its network; cheap to
/// copy. Several layers may use the same value.
class Value {
 public:
  const Shape& shape() const;
  int id() const { return id_; }
  Network& network() const { return *network_; }

 private:
  friend class Network;
  Value(Network* network, int id) : network_(network), id_(id) {}
  Network* network_;
  int id_;
};

/// Layers in the order of construction, with their inputs and parameters. Shapes are checked when a layer is
/// added; a mismatch throws Error(usage) naming the layer. Must not change while a Trainer or Replica uses
/// it.
class Network {
 public:
  struct Layer {
    Operation operation;
    std::string name;
    std::vector<int> inputs;      ///< ids of layers
    Shape shape;                  ///< shape of the output
    std::vector<int> parameters;  ///< indices in Network::parameters()
  };

  explicit Network(Shape input);
  Network(Network&&) = delete;  // values point to the network

  Value input();
  /// Sets the logits, one channel per class. Must be called once before the network is used.
  void output(Value logits);

  const std::vector<Layer>& layers() const { return layers_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  int output_id() const { return output_; }
  Shape input_shape() const { return layers_.front().shape; }
  int classes() const;

  /// Adds a layer; the functions below are the usual way to call it. `name`, unless empty, replaces the name
  /// in the options; for a layer without parameters, it appears in errors and tables only.
  Value add(Operation operation, const std::vector<Value>& inputs, const std::string& name = {});

 private:
  bool is_taken(const std::string& name, const Operation& operation) const;
  std::string name_for(const Operation& operation, const std::string& given) const;

  std::vector<Layer> layers_;
  std::vector<Parameter> parameters_;
  int output_ = -1;
};

/// Maximum number of inputs of a layer.
constexpr std::size_t max_inputs = 4;

/// Two-dimensional cross-correlation with bias:
/// [C, H, W] -> [channels, (H + 2 padding - dilation (kernel - 1) - 1) / stride + 1, ...].
inline Value conv2d(Value x, Conv2d options) { return x.network().add(std::move(options), {x}); }
/// y = W x + b on a vector.
inline Value linear(Value x, Linear options) { return x.network().add(std::move(options), {x}); }
inline Value linear(Value x, int features) { return linear(x, Linear{.features = features}); }
/// y = (x - mean) / sqrt(variance + eps) * weight + bias per channel (Ioffe and Szegedy, 2015).
inline Value batch_norm2d(Value x, BatchNorm2d options = {}) {
  return x.network().add(std::move(options), {x});
}
/// y = (x - mean) / sqrt(variance + eps) * weight + bias per image and group of channels (Wu and He, 2018).
inline Value group_norm(Value x, GroupNorm options) { return x.network().add(std::move(options), {x}); }
inline Value relu(Value x) { return x.network().add(Activation{Activation::Kind::relu}, {x}); }
/// min(max(x, 0), 6)
inline Value relu6(Value x) { return x.network().add(Activation{Activation::Kind::relu6}, {x}); }
/// x * sigmoid(x)
inline Value silu(Value x) { return x.network().add(Activation{Activation::Kind::silu}, {x}); }
inline Value gelu(Value x) { return x.network().add(Activation{Activation::Kind::gelu}, {x}); }
inline Value max_pool2d(Value x, MaxPool2d options) { return x.network().add(options, {x}); }
inline Value avg_pool2d(Value x, AvgPool2d options) { return x.network().add(options, {x}); }
inline Value adaptive_avg_pool2d(Value x, int size = 1) {
  return x.network().add(AdaptiveAvgPool2d{size}, {x});
}
/// [C, H, W] -> [C*H*W], in that order.
inline Value flatten(Value x) { return x.network().add(Flatten{}, {x}); }
/// Sum of two values with equal shapes.
inline Value operator+(Value a, Value b) { return a.network().add(Add{}, {a, b}); }
/// Concatenates 2 to 4 values with equal height and width.
Value concat(const std::vector<Value>& values);
inline Value dropout(Value x, double p) { return x.network().add(Dropout{p}, {x}); }

}  // namespace lockstep
