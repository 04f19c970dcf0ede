#pragma once

#include <cstddef>
#include <vector>

#include "device/cuda/launch.h"
#include "ops/cuda/dnn/dnn.h"

/// Conversion of weights between the arena, where they have PyTorch's layout, and the library of
/// convolutions, where channels are padded. Addresses are in device memory.
namespace lockstep::cuda {

/// Channels and groups of the network; the problem has padded ones. If the problem has one group and the
/// network several, padded weights hold zeros between the groups.
struct WeightShape {
  int out_channels = 0;
  int in_channels = 0;
  int groups = 1;
  /// Pixels of the images that a linear layer reads as they are stored: each pixel's padded channels are
  /// channels of the problem. Else 1.
  int pixels = 1;
};

/// Channels, groups and sizes of both forms. 32 bits: 64-bit divisions are slow on a GPU.
struct WeightForms {
  unsigned out_channels, group_inputs, group_outputs;                 ///< of the network
  unsigned padded_out_channels, padded_inputs, padded_group_outputs;  ///< of the problem; inputs of a group
  unsigned taps;  ///< pixels of the kernel, or of a linear layer's images
};
WeightForms weight_forms(const ConvProblem& problem, const WeightShape& shape);

/// Whether both forms are the same, so that the library can use weights and bias in the arena, and write
/// their gradients there.
bool same_forms(const ConvProblem& problem, const WeightShape& shape);

/// Elements of the padded weights.
std::size_t padded_weights(const ConvProblem& problem);

/// Pads the weights of several layers, all of one type, with one kernel (or few, for very many layers).
class WeightPadding {
 public:
  WeightPadding(StreamHandle stream, Type type) : stream_(stream), type_(type) {}

  /// weight: float, [out channel][in channel of the group][kernel row][kernel column]; padded: of the type,
  /// [out channel][kernel row][kernel column][in channel of the group]. bias: float, or null where there is
  /// none; padded_bias: of the type.
  struct Layer {
    WeightForms forms;
    const float* weight;
    const float* bias;
    void* padded;
    void* padded_bias;
  };
  void add(const Layer& layer);
  /// Enqueues what was added since the last call.
  void run();

 private:
  StreamHandle stream_;
  Type type_;
  std::vector<Layer> layers_;
};

}  // namespace lockstep::cuda
