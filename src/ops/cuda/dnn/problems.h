#pragma once

#include <string>

#include "graph/graph.h"
#include "ops/cuda/dnn/dnn.h"

namespace lockstep::cuda {

/// Requests of a graph's nodes to the library of convolutions, with padded channels. `input`: shape of the
/// node's first input as stored (cropped, not padded).

/// The problem of a Conv2d or a Linear, which is a 1 x 1 convolution of 1 x 1 images whose channels are all
/// that is stored of its input. The output is the one before the epilogue: where that pools, only the pixels
/// it reads. Depthwise convolutions get as many groups as padded channels; where padding would tear other
/// groups apart there is one, with zeros in its weights between what were groups
/// (kernels/parameters/conv_weights.h).
ConvProblem conv_problem(const GraphNode& node, Shape input, int samples, Type type);

/// The problem of a BatchNorm2d. A ReLU6 is not part of it.
BatchNormProblem batch_norm_problem(const GraphNode& node, int samples, Type type);

/// One direction of a convolution as libraries want it: rows (or columns) of the input that it reads, all or
/// the first ones, and a padding after them that is never negative.
struct ConvExtent {
  int size = 0;
  int padding_after = 0;
  bool operator==(const ConvExtent&) const = default;
};
ConvExtent rows_of(const ConvProblem& problem);
ConvExtent columns_of(const ConvProblem& problem);

/// In one line, for messages, tables and plan files; different problems have different ones. "bf16
/// 128x26x26x8
/// -> 24x24x24, kernel 3": samples, rows, columns, channels.
std::string describe(const ConvProblem& problem);
/// "bf16 128x7x7x512 + add + relu"
std::string describe(const BatchNormProblem& problem);
std::string name_of(Type type);

}  // namespace lockstep::cuda
