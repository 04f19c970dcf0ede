#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "graph/graph.h"
#include "ops/cuda/dnn/dnn.h"

namespace lockstep::cuda {

// Convolution problems in the form that the library reads, with padded channels.

/// Problem of a Conv2d, or of a Linear, which becomes a 1 x 1 convolution of 1 x 1 images whose channels are
/// all stored values of its input. `input`: shape of the node's input as stored (cropped, not padded). The
/// problem's output is the output before the epilogue, without pixels that pooling drops. Depthwise
/// convolutions have as many groups as padded channels. Other groups that padding would split are merged into
/// one, with zeros between them in the padded weights (kernels/parameters/conv_weights.h).
ConvProblem conv_problem(const GraphNode& node, Shape input, int samples, Type type);

/// Rows (or columns) of a convolution as libraries accept them, without negative padding: the number of
/// leading rows of the input that are read, and the padding after these rows.
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

/// Unique description of a task, for example "convolution forward + bias: " followed by the problem's
/// description.
std::string describe(const ConvTask& task);

/// Whether a cuDNN engine yields wrong results for a problem. `engine`: its name ("eng41_k2=4"); `fft`:
/// whether it computes by FFT. Source: all engines of cuDNN 9.19 on an H200, compared with the definition of
/// a convolution (tests/ops/cuda_native/engines_test.cpp).
bool is_wrong(const ConvProblem& problem, ConvDirection direction, std::string_view engine, bool fft);

/// Reason why a cuDNN engine is probably slow for a problem, judged by its name ("eng41_k2=4") and workspace;
/// empty if there is none.
std::string_view reason_to_avoid(const ConvProblem& problem, std::string_view engine,
                                 std::size_t workspace_bytes);

}  // namespace lockstep::cuda
