#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/philox.h"
#include "ops/cpu/level.h"
#include "ops/cpu/op.h"

namespace lockstep::cpu {
namespace {

struct DropoutPlan {
  const Kernels* kernels;
  std::size_t elements;
  std::uint32_t position;   ///< of the layer in the graph: each draws numbers of its own
  std::uint32_t threshold;  ///< of 24 bits: below it, an element is dropped
  float scale;
};

/// Bit `sample % 16` of every element's mask: 4 elements from each block of random numbers, whose counter is
/// (purpose and layer, epoch, sample, element / 4).
void draw(const DropoutPlan& plan, const OpMemory& memory, int sample, std::uint16_t* masks) {
  const std::uint64_t id = memory.ids[sample];
  const std::uint32_t purpose = static_cast<std::uint32_t>(Purpose::dropout) | plan.position << 8 |
                                static_cast<std::uint32_t>(id >> 32) << 24;
  const auto bit = static_cast<unsigned>(1 << (sample % lanes));
  for (std::size_t first = 0; first < plan.elements; first += 4) {
    const auto numbers =
        philox(memory.random.seed, {purpose, memory.random.epoch, static_cast<std::uint32_t>(id),
                                    static_cast<std::uint32_t>(first / 4)});
    for (std::size_t i = first; i < std::min(first + 4, plan.elements); ++i) {
      if (numbers[i - first] >> 8 >= plan.threshold) {
        masks[i] = static_cast<std::uint16_t>(masks[i] | bit);
      }
    }
  }
}

void forward(const DropoutPlan& plan, const OpMemory& memory) {
  auto* masks = reinterpret_cast<std::uint16_t*>(memory.saved);
  const std::size_t count = plan.elements * static_cast<std::size_t>(groups_of(memory.samples));
  std::fill_n(masks, count, std::uint16_t{0});
  for (int sample = 0; sample < memory.samples; ++sample) {
    draw(plan, memory, sample, masks + plan.elements * static_cast<std::size_t>(sample / lanes));
  }
  plan.kernels->select(count, plan.scale, masks, memory.inputs[0], memory.output);
}

void backward(const DropoutPlan& plan, const OpMemory& memory) {
  if (memory.grad_inputs[0] != nullptr) {
    plan.kernels->select(plan.elements * static_cast<std::size_t>(groups_of(memory.samples)), plan.scale,
                         reinterpret_cast<const std::uint16_t*>(memory.saved), memory.grad_output,
                         memory.grad_inputs[0]);
  }
}

}  // namespace

Op plan_dropout(const OpRequest& request) {
  if (!request.training) {
    return plan_flatten(request);  // the values as they are
  }
  const double p = std::get<Dropout>(request.node.operation).p;
  const DropoutPlan plan{.kernels = &kernels_of(request.level),
                         .elements = request.node.shape.size(),
                         .position = static_cast<std::uint32_t>(request.position),
                         .threshold = static_cast<std::uint32_t>(std::lround(p * 16777216.0)),
                         .scale = static_cast<float>(1.0 / (1.0 - p))};
  Op op;
  op.saved_bytes =
      plan.elements * static_cast<std::size_t>(groups_of(request.samples)) * sizeof(std::uint16_t);
  op.forward = [plan](const OpMemory& memory) { forward(plan, memory); };
  op.backward = [plan](const OpMemory& memory) { backward(plan, memory); };
  return op;
}

}  // namespace lockstep::cpu
