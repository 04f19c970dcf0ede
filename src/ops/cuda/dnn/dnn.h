#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/cuda/stream_handle.h"

namespace lockstep::cuda {

/// Storage type of activations, their gradients and convolution weights, and precision of convolutions.
/// Parameters, statistics, gradients of parameters and sums are always float.
enum class Type {
  fp32,  ///< float, multiplied in float
  tf32,  ///< float, multiplied in TensorFloat-32
  bf16,  ///< Bfloat16, summed in float
};
constexpr std::size_t bytes_of(Type type) { return type == Type::bf16 ? 2 : 4; }

/// The number of stored channels is a multiple of this; padding channels hold zeros.
constexpr int channel_unit = 8;
constexpr int padded_channels(int channels) {
  return (channels + channel_unit - 1) / channel_unit * channel_unit;
}

/// A 2-d cross-correlation with padded channels. Tensors are [sample][row][column][channel], weights
/// [out channel][kernel row][kernel column][in channel / groups]. A linear layer has a 1 x 1 kernel and 1 x 1
/// images.
struct ConvProblem {
  int samples = 0;
  int in_channels = 0;
  int in_height = 0;
  int in_width = 0;
  int out_channels = 0;
  /// Output size in the graph. Cropping may make it smaller than the usual formula gives, so that the padding
  /// after the last row and column may be negative.
  int out_height = 0;
  int out_width = 0;
  int kernel = 1;
  int stride = 1;
  int padding = 0;  ///< before the first row and column
  int dilation = 1;
  int groups = 1;
  Type type = Type::fp32;
  bool operator==(const ConvProblem&) const = default;
};

/// A compiled convolution. Immutable; streams can use it at the same time, with a workspace each. Gives the
/// same bits in every run on one type of GPU.
class DnnOperation {
 public:
  virtual ~DnnOperation() = default;
  virtual std::size_t workspace_bytes() const = 0;
  /// Enqueues the operation. `tensors`: device addresses, aligned to 16 bytes, in the order that the function
  /// of Dnn documents. `workspace`: workspace_bytes() bytes, aligned to 256.
  virtual void run(StreamHandle stream, std::span<void* const> tensors, void* workspace) const = 0;
  /// The library's name of the engine, for the record of a run.
  virtual std::string description() const = 0;
  /// The library's remarks on how the engine computes; empty: none.
  virtual std::string notes() const { return {}; }
};

/// Converts an address for DnnOperation::run, which takes pointers to non-const memory only.
inline void* writable(const void* data) { return const_cast<void*>(data); }

/// Convolutions of a library: cuDNN, or plain loops on the host in tests. Functions throw
/// Error(resource) naming the problem if the library has no deterministic engine.
class Dnn {
 public:
  virtual ~Dnn() = default;
  /// tensors: input, weight, [bias,] output. bias: [out channel], of the activations' type. relu: max(0, .).
  virtual std::unique_ptr<DnnOperation> conv_forward(const ConvProblem& problem, bool bias, bool relu) = 0;
  /// tensors: grad_output, weight, grad_input (written).
  virtual std::unique_ptr<DnnOperation> conv_backward_data(const ConvProblem& problem) = 0;
  /// tensors: input, grad_output, grad_weight (written, of the activations' type).
  virtual std::unique_ptr<DnnOperation> conv_backward_weights(const ConvProblem& problem) = 0;
  /// Engines chosen so far, as the text of a PlanFile. Empty: none.
  virtual std::string engines() const { return {}; }
  /// Uses the engines of another rank, the text of its engines(), for the problems in it.
  virtual void use_engines(const std::string& /*engines*/) {}
};

}  // namespace lockstep::cuda
