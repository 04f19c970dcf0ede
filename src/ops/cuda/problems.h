#pragma once

#include "graph/graph.h"
#include "ops/cuda/dnn.h"

namespace lockstep::cuda {

/// What a node of a graph asks of the library of convolutions, with padded channels. `input`: shape of the
/// node's first input as stored (cropped, not padded).

/// Of a Conv2d or a Linear, which is a 1 x 1 convolution of 1 x 1 images. The output is the one before the
/// epilogue: where that pools, only the pixels it reads. Depthwise convolutions get as many groups as padded
/// channels; Error(usage) naming the layer where other groups would be torn apart by padding.
ConvProblem conv_problem(const GraphNode& node, Shape input, int samples, Type type);

/// Of a BatchNorm2d. A ReLU6 is not part of it.
BatchNormProblem batch_norm_problem(const GraphNode& node, int samples, Type type);

}  // namespace lockstep::cuda
