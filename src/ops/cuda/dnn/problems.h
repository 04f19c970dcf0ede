#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "graph/graph.h"
#include "ops/cuda/dnn/dnn.h"

namespace lockstep::cuda {

// Problems for the library of convolutions, with padded channels.

/// Problem of a Conv2d, or of a Linear as a 1 x 1 convolution of 1 x 1 images with all stored channels of its
/// input. `input`: shape of the node's input as stored (cropped, not padded). The output is the one before
/// the epilogue, without pixels that pooling drops. Depthwise convolutions have as many groups as padded
/// channels. Other groups that padding would split are merged into one, with zeros between them in the padded
/// weights (kernels/parameters/conv_weights.h).
ConvProblem conv_problem(const GraphNode& node, Shape input, int samples, Type type);

/// One direction of a convolution for libraries, which accept no negative padding: the leading rows (or
/// columns) of the input, and the padding after them.
struct ConvExtent {
  int size = 0;
  int padding_after = 0;
  bool operator==(const ConvExtent&) const = default;
};
ConvExtent rows_of(const ConvProblem& problem);
ConvExtent columns_of(const ConvProblem& problem);

/// Unique description for messages, tables and plan files: "bf16 128x26x26x8 -> 24x24x24, kernel 3" (samples,
/// rows, columns, channels).
std::string describe(const ConvProblem& problem);

/// Unique description of an operation of Dnn: "convolution forward + bias: " and the above.
std::string describe(const ConvTask& task);

/// Whether an engine of cuDNN gives wrong results for a problem, by its name ("eng41_k2=4") and whether it
/// computes by FFT. Source: all engines of cuDNN 9.19 on an H200 beside the definition of a convolution
/// (tests/ops/cuda_native/engines_test.cpp).
bool is_wrong(const ConvProblem& problem, ConvDirection direction, std::string_view engine, bool fft);

/// Reason why an engine of cuDNN is probably slow for a problem, by its name ("eng41_k2=4") and workspace;
/// empty: none.
std::string_view reason_to_avoid(const ConvProblem& problem, std::string_view engine,
                                 std::size_t workspace_bytes);

}  // namespace lockstep::cuda
