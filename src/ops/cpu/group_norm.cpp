#include "ops/cpu/kernels/group_norm.h"

#include "ops/cpu/op.h"

namespace lockstep::cpu {
namespace {

/// Group norm of activations that are stored as `Element`.
template <class Element>
struct GroupNormLayer {
  const GroupNormFunctions<Element>* kernels;
  GroupNormShape shape;  ///< shape for a full micro-batch
  float eps;
  std::size_t inverse_offset;  ///< offset of the inverse deviations in saved memory, after the means
};

GroupNormShape shape_of(GroupNormShape shape, int samples) {
  shape.groups = groups_of(samples);
  return shape;
}

template <class Element>
void forward(const GroupNormLayer<Element>& layer, const NodeMemory<Element>& memory) {
  layer.kernels->forward({.shape = shape_of(layer.shape, memory.samples),
                          .eps = layer.eps,
                          .input = memory.inputs[0],
                          .weight = memory.parameters[0],
                          .bias = memory.parameters[1],
                          .output = memory.output,
                          .mean = floats_at(memory.saved, 0),
                          .inverse_deviation = floats_at(memory.saved, layer.inverse_offset)});
}

template <class Element>
void backward(const GroupNormLayer<Element>& layer, const NodeMemory<Element>& memory) {
  layer.kernels->backward({.shape = shape_of(layer.shape, memory.samples),
                           .input = memory.inputs[0],
                           .grad_output = memory.grad_output,
                           .weight = memory.parameters[0],
                           .mean = floats_at(memory.saved, 0),
                           .inverse_deviation = floats_at(memory.saved, layer.inverse_offset),
                           .grad_input = memory.grad_inputs[0],
                           .grad_weight = memory.grad_parameters[0],
                           .grad_bias = memory.grad_parameters[1],
                           .sums = floats_at(memory.scratch, 0)});
}

template <class Element>
Op plan_group_norm(const GroupNorm& norm, const OpRequest& request) {
  const Shape& image = request.node.shape;
  const int groups = groups_of(request.samples);
  ScratchLayout saved;
  const auto statistics = static_cast<std::size_t>(groups) * static_cast<std::size_t>(norm.groups) * lanes;
  saved.add(statistics);
  const GroupNormLayer<Element> layer{
      .kernels = &functions_of<Element>(group_norm_kernels(request.level)),
      .shape = {.groups = groups,
                .channels = image.channels,
                .channel_groups = norm.groups,
                .plane = static_cast<std::size_t>(image.height) * static_cast<std::size_t>(image.width)},
      .eps = static_cast<float>(norm.eps),
      .inverse_offset = saved.add(statistics)};
  Op op = op_of<Element>(layer);
  op.saved_bytes = saved.bytes();
  op.scratch_bytes = group_norm_sums(layer.shape) * sizeof(float);
  op.backward_reads_inputs = 1;
  return op;
}

}  // namespace

Op plan(const GroupNorm& norm, const OpRequest& request) {
  return plan_as_stored(request,
                        [&]<class Element>(Element) { return plan_group_norm<Element>(norm, request); });
}

}  // namespace lockstep::cpu
