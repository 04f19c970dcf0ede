#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "lockstep/shape.h"

namespace lockstep {

/// How a parameter gets its first values. Element i of a parameter is a function of (seed, the parameter's
/// position in the network, i) only.
struct Initializer {
  enum class Kind { standard, zeros, normal, uniform } kind = Kind::standard;
  double scale = 0.0;  ///< normal: standard deviation; uniform: half width of the interval around 0

  /// PyTorch's default for convolution and linear layers: uniform(1 / sqrt(fan in)), biases too.
  static Initializer standard() { return {}; }
  static Initializer zeros() { return {Kind::zeros, 0.0}; }
  /// Biases of such a layer are zeros.
  static Initializer normal(double deviation) { return {Kind::normal, deviation}; }
  static Initializer uniform(double half_width) { return {Kind::uniform, half_width}; }
};

/// A trainable tensor, named and laid out as in a PyTorch state_dict.
struct Parameter {
  std::string name;                 ///< e.g. "conv1.weight"
  std::vector<std::int64_t> shape;  ///< e.g. {20, 1, 3, 3}: output, input, rows, columns
  Initializer initializer;

  std::size_t size() const;
};

// One struct per operation: its options, as PyTorch names them. `name` becomes the prefix of its
// parameters; left empty, layers are numbered by kind: conv1, conv2, ..., fc1, fc2, ...
struct Input {};
struct Conv2d {
  int channels = 0;  ///< output channels
  int kernel = 1;
  int stride = 1;
  int padding = 0;
  Initializer weight{};
  std::string name{};
};
struct Linear {
  int features = 0;  ///< output features
  Initializer weight{};
  std::string name{};
};
struct Relu {};
struct AvgPool2d {
  int kernel = 2;
  int stride = 0;  ///< 0: same as kernel. Output size is rounded down, as PyTorch does by default
};
struct Flatten {};
struct Add {};

using Operation = std::variant<Input, Conv2d, Linear, Relu, AvgPool2d, Flatten, Add>;

class Network;

/// An activation of a network under construction: a small handle, free to copy, used any number of times
/// (branches), valid as long as its network.
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

/// What the user builds: operations in the order of construction, each with its inputs and parameters.
/// Shapes are checked at once; a mismatch throws Error(usage) naming the layer.
class Network {
 public:
  /// A layer: operation, ids of its inputs, its output shape, indices of its parameters.
  struct Layer {
    Operation operation;
    std::string name;
    std::vector<int> inputs;
    Shape shape;
    std::vector<int> parameters;
  };

  explicit Network(Shape input);
  Network(Network&&) = delete;  // values point to it

  Value input();
  /// The logits: one channel per class. Must be called once, before the network is used.
  void output(Value logits);

  const std::vector<Layer>& layers() const { return layers_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  int output_id() const { return output_; }
  Shape input_shape() const { return layers_.front().shape; }
  int classes() const;

  /// Adds a layer; the functions below are the usual way.
  Value add(Operation operation, const std::vector<Value>& inputs);

 private:
  std::string name_for(const Operation& operation) const;

  std::vector<Layer> layers_;
  std::vector<Parameter> parameters_;
  int output_ = -1;
};

/// 2-d cross-correlation with bias: [C, H, W] -> [channels, (H + 2 padding - kernel) / stride + 1, ...].
Value conv2d(Value x, Conv2d options);
/// y = W x + b on a vector.
Value linear(Value x, int features);
Value linear(Value x, Linear options);
Value relu(Value x);
Value avg_pool2d(Value x, AvgPool2d options);
/// [C, H, W] -> [C*H*W], in that order.
Value flatten(Value x);
/// Sum of two values of equal shape.
Value operator+(Value a, Value b);

}  // namespace lockstep
