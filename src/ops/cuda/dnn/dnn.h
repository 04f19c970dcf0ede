#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/cuda/launch.h"

namespace lockstep::cuda {

/// Storage of activations, their gradients and convolution weights, and how convolutions multiply.
/// Everything else (parameters, statistics, gradients of parameters, sums) is float.
enum class Type {
  fp32,  ///< float, multiplied as such: no TensorFloat-32
  tf32,  ///< float, multiplied as TensorFloat-32
  bf16,  ///< Bfloat16, summed as float
};
constexpr std::size_t bytes_of(Type type) { return type == Type::bf16 ? 2 : 4; }

/// Channels are stored in multiples of this; the rest of the last one holds zeros.
constexpr int channel_unit = 8;
constexpr int padded_channels(int channels) {
  return (channels + channel_unit - 1) / channel_unit * channel_unit;
}

/// A 2-d cross-correlation. Tensors are [sample][row][column][channel], weights
/// [out channel][kernel row][kernel column][in channel / groups]; channels are padded ones. A linear layer is
/// one with a 1 x 1 kernel on 1 x 1 images.
struct ConvProblem {
  int samples = 0;
  int in_channels = 0;
  int in_height = 0;
  int in_width = 0;
  int out_channels = 0;
  int out_height =
      0;              ///< as the graph computes it: cropping may have made it smaller than the formula gives,
  int out_width = 0;  ///< so the padding after the last row and column may be negative
  int kernel = 1;
  int stride = 1;
  int padding = 0;  ///< before the first row and column
  int dilation = 1;
  int groups = 1;
  Type type = Type::fp32;
  bool operator==(const ConvProblem&) const = default;
};

struct BatchNormProblem {
  int samples = 0;
  int channels = 0;  ///< padded
  int height = 0;
  int width = 0;
  bool add = false;
  bool relu = false;
  Type type = Type::fp32;
  bool operator==(const BatchNormProblem&) const = default;
};

/// One operation of a library, chosen and compiled. Immutable, but used by one stream at a time. Same bits
/// at every run on one type of GPU.
class DnnOperation {
 public:
  virtual ~DnnOperation() = default;
  virtual std::size_t workspace_bytes() const = 0;
  /// Enqueues the operation. `tensors`: device addresses in the order that its maker documents, each aligned
  /// to 16 bytes; `workspace`: workspace_bytes() of memory, aligned to 256.
  virtual void run(StreamHandle stream, std::span<void* const> tensors, void* workspace) const = 0;
  /// Name of its engine, as the library calls it, for the run's record.
  virtual std::string description() const = 0;
};

/// Convolutions and batch norm by a library (cuDNN; a plain loop on the host in tests). Makers throw
/// Error(resource) where the library has no deterministic way, naming the problem.
class Dnn {
 public:
  virtual ~Dnn() = default;
  /// tensors: input, weight, [bias,] output. bias: [out channel], of the activations' type. relu: max(0, .).
  virtual std::unique_ptr<DnnOperation> conv_forward(const ConvProblem& problem, bool bias, bool relu) = 0;
  /// tensors: grad_output, weight, grad_input (written).
  virtual std::unique_ptr<DnnOperation> conv_backward_data(const ConvProblem& problem) = 0;
  /// tensors: input, grad_output, grad_weight (written, of the activations' type).
  virtual std::unique_ptr<DnnOperation> conv_backward_weights(const ConvProblem& problem) = 0;
  /// Training: tensors: input, [residual,] weight, bias, output, mean, inverse_deviation. output =
  /// relu?((input - mean) * inverse_deviation * weight + bias [+ residual]); statistics of the batch, weight,
  /// bias: float, [channel]. variance divided by the number of values.
  virtual std::unique_ptr<DnnOperation> batch_norm_forward(const BatchNormProblem& problem, double eps) = 0;
  /// tensors: input, grad_output, weight, mean, inverse_deviation, grad_input, grad_weight, grad_bias. add
  /// and relu of the problem are ignored: what belongs to them happened to grad_output before.
  virtual std::unique_ptr<DnnOperation> batch_norm_backward(const BatchNormProblem& problem) = 0;
  /// Engines chosen so far, as the text of a PlanFile; empty where nothing is chosen.
  virtual std::string engines() const { return {}; }
};

}  // namespace lockstep::cuda
