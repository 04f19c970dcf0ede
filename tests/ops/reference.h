#pragma once

#include <array>
#include <vector>

#include "graph/graph.h"
#include "ops/plan.h"
#include "ops/tensor.h"

/// Plain implementations of all operations in double precision. reference_test.cpp checks their gradients by
/// finite differences.
namespace lockstep::test {

using Parameters = std::array<std::vector<double>, max_parameters>;
using Tensors = std::array<Tensor, max_inputs>;

/// Calls visit(sample, channel, row, column).
template <class Visit>
void for_each_index(const Tensor& tensor, const Visit& visit) {
  for (int n = 0; n < tensor.samples; ++n) {
    for (int c = 0; c < tensor.shape.channels; ++c) {
      for (int h = 0; h < tensor.shape.height; ++h) {
        for (int w = 0; w < tensor.shape.width; ++w) {
          visit(n, c, h, w);
        }
      }
    }
  }
}

bool is_pool(const Operation& operation);

/// A node with its epilogue: the operation, then addition, activation and pooling.
struct Reference {
  std::vector<Operation> stages;
  std::vector<Tensors> stage_inputs;
  Tensor output;

  /// Runs forward.
  Reference(const GraphNode& node, const Tensors& inputs, const Parameters& parameters);

  /// Computes gradients of inputs and parameters from the gradient of the output.
  void backward(const Parameters& parameters, const Tensor& grad_output, Tensors& grad_inputs,
                Parameters& grad_parameters) const;
};

}  // namespace lockstep::test
