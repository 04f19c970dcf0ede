#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "device/cuda/stream_handle.h"
#include "lockstep/execution.h"

namespace lockstep::cuda {

/// Storage type of activations, their gradients and convolution weights, and precision of convolutions.
using Type = DataType;
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
  /// Output size in the graph. Cropping may make it smaller than the usual formula yields; the padding after
  /// the last row and column may then be negative.
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

enum class ConvDirection { forward, backward_data, backward_weights };
inline Names choices_of(ConvDirection) { return {"forward", "backward data", "backward weights"}; }

/// A convolution in one direction.
struct ConvTask {
  ConvProblem problem;
  ConvDirection direction = ConvDirection::forward;
  // Forward only.
  bool bias = false;
  bool relu = false;  ///< max(0, .)
};

/// A compiled convolution. Several streams can use it at the same time, each with a separate workspace.
/// Yields the same bits in every run on GPUs of the same type.
struct DnnOperation {
  std::string description;  ///< the library's name of the engine
  std::string notes = {};   ///< the library's remarks on how the engine computes; empty: none
  std::size_t workspace_bytes = 0;
  /// Enqueues the operation. `tensors`: device addresses, aligned to 16 bytes, in the order documented at
  /// Dnn::plan. `workspace`: workspace_bytes of device memory, aligned to 256 bytes.
  std::function<void(StreamHandle stream, std::span<void* const> tensors, void* workspace)> run = {};
};

/// Converts an address for DnnOperation::run, which accepts only pointers to non-const memory.
inline void* writable(const void* data) { return const_cast<void*>(data); }

/// A library of convolutions: cuDNN, or plain loops on the host in tests.
class Dnn {
 public:
  virtual ~Dnn() = default;
  /// Compiles a convolution. Throws Error(resource) naming the problem if the library has no deterministic
  /// engine. Tensors (the last one is written):
  ///   forward           input, weight, [bias,] output; bias: [out channel], of the activations' type
  ///   backward_data     grad_output, weight, grad_input
  ///   backward_weights  input, grad_output, grad_weight, of the activations' type
  virtual DnnOperation plan(const ConvTask& task) = 0;
  /// Engines chosen so far, as the text of a PlanFile. Empty: none.
  virtual std::string engines() const { return {}; }
  /// Uses engines that another rank chose (the text of its engines()) for the problems listed there.
  virtual void use_engines(const std::string& /*engines*/) {}
};

}  // namespace lockstep::cuda
