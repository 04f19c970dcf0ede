#include "ops/cuda/kernels/cross_entropy.h"

#include "ops/cuda/op.h"

namespace lockstep::cuda {

Op plan_cross_entropy(Shape logits, int samples, float smoothing, Type type) {
  const auto classes = static_cast<int>(logits.size());
  Op op;
  op.scratch_bytes = cross_entropy_scratch(samples, classes);
  op.forward = [=](const OpMemory& memory) {
    cross_entropy(memory.stream, {.type = type,
                                  .samples = samples,
                                  .classes = classes,
                                  .smoothing = smoothing,
                                  .logits = memory.inputs[0],
                                  .grad = memory.grad_inputs[0],
                                  .labels = memory.labels,
                                  .other_labels = memory.other_labels,
                                  .shares = memory.shares,
                                  .predictions = memory.predictions,
                                  .result = memory.result,
                                  .scratch = memory.scratch});
  };
  op.backward = [](const OpMemory&) {};
  return op;
}

}  // namespace lockstep::cuda
