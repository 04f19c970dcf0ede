#include <algorithm>

#include "ops/cpu/kernels/elementwise.h"
#include "ops/cpu/op.h"
#include "ops/dropout_rule.h"

namespace lockstep::cpu {
namespace {

/// Dropout of activations that are stored as `Element`.
template <class Element>
struct DropoutLayer {
  const ElementwiseFunctions<Element>* kernels;
  std::size_t elements;
  DropoutRule rule;
};

/// Draws bit `sample % 16` of every element's mask.
template <class Element>
void draw(const DropoutLayer<Element>& layer, const NodeMemory<Element>& memory, int sample,
          std::uint16_t* masks) {
  const auto bit = static_cast<unsigned>(1 << (sample % lanes));
  for (std::size_t first = 0; first < layer.elements; first += 4) {
    const auto numbers =
        layer.rule.numbers(*memory.random, memory.ids[sample], static_cast<std::uint32_t>(first / 4));
    for (std::size_t i = first; i < std::min(first + 4, layer.elements); ++i) {
      if (layer.rule.keeps(numbers[i - first])) masks[i] = static_cast<std::uint16_t>(masks[i] | bit);
    }
  }
}

template <class Element>
void forward(const DropoutLayer<Element>& layer, const NodeMemory<Element>& memory) {
  auto* masks = reinterpret_cast<std::uint16_t*>(memory.saved);
  const std::size_t count = layer.elements * groups_of(memory.samples);
  std::fill_n(masks, count, std::uint16_t{0});
  for (int sample = 0; sample < memory.samples; ++sample) {
    draw(layer, memory, sample, masks + layer.elements * static_cast<std::size_t>(sample / lanes));
  }
  layer.kernels->select(count, layer.rule.scale, masks, memory.inputs[0], memory.output);
}

template <class Element>
void backward(const DropoutLayer<Element>& layer, const NodeMemory<Element>& memory) {
  if (memory.grad_inputs[0] != nullptr) {
    layer.kernels->select(layer.elements * groups_of(memory.samples), layer.rule.scale,
                          reinterpret_cast<const std::uint16_t*>(memory.saved), memory.grad_output,
                          memory.grad_inputs[0]);
  }
}

}  // namespace

Op plan(const Dropout& dropout, const OpRequest& request) {
  if (!request.training) {
    return plan(Flatten{}, request);  // copies the values
  }
  return plan_as_stored(request, [&]<class Element>(Element) {
    const DropoutLayer<Element> layer{.kernels = &functions_of<Element>(elementwise_kernels(request.level)),
                                      .elements = request.node.shape.size(),
                                      .rule = dropout_rule(dropout.p, request.position)};
    Op op = op_of<Element>(layer);
    op.saved_bytes = mask_bytes(layer.elements, request.samples);
    return op;
  });
}

}  // namespace lockstep::cpu
