#pragma once

#include <cstddef>
#include <vector>

#include "device/cuda/stream_handle.h"
#include "ops/cuda/dnn/dnn.h"

/// Conversion of weights between the arena (PyTorch's layout) and the library (padded channels). All
/// addresses are device addresses.
namespace lockstep::cuda {

/// Channels and groups of the network; ConvProblem has the padded numbers. If the network has several groups
/// but the problem has one, padded weights are zero between the groups.
struct WeightShape {
  int out_channels = 0;
  int in_channels = 0;
  int groups = 1;
  /// Pixels of the images that a linear layer reads; the problem's channels are then the padded channels of
  /// all pixels. 1 for other layers.
  int pixels = 1;
};

/// Sizes of the weights in both forms, in the arena and padded. 32 bits: 64-bit divisions are slow on a GPU.
struct WeightForms {
  unsigned out_channels, group_inputs, group_outputs;                 ///< of the network
  unsigned padded_out_channels, padded_inputs, padded_group_outputs;  ///< of the problem; inputs per group
  unsigned taps;  ///< pixels of the kernel, or of a linear layer's images
};
WeightForms weight_forms(const ConvProblem& problem, const WeightShape& shape);

/// Whether both forms are equal, so that the library can use weights, bias and gradients in the arena.
bool same_forms(const WeightForms& forms, Type type);

/// Number of elements of the padded weights.
std::size_t padded_weights(const ConvProblem& problem);

/// Pads the weights of several layers with one kernel launch, or a few launches for very many layers.
class WeightPadding {
 public:
  WeightPadding(StreamHandle stream, Type type) : stream_(stream), type_(type) {}

  struct Layer {
    WeightForms forms;
    const float* weight;  ///< [out channel][in channel of the group][kernel row][kernel column]
    const float* bias;    ///< may be null
    void* padded;         ///< [out channel][kernel row][kernel column][in channel of the group], of the type
    void* padded_bias;    ///< of the type
  };
  void add(const Layer& layer);
  /// Enqueues the work added since the last run.
  void run();

 private:
  StreamHandle stream_;
  Type type_;
  std::vector<Layer> layers_;
};

}  // namespace lockstep::cuda
