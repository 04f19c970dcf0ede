#include "ops/cuda/kernels/cross_entropy.h"

#include "ops/cuda/op.h"

namespace lockstep::cuda {

Loss plan_cross_entropy(Shape logits, int samples, float smoothing, Type type) {
  const auto classes = static_cast<int>(logits.size());
  Loss loss;
  loss.scratch_bytes = cross_entropy_scratch(samples, classes);
  loss.run = [=](const LossMemory& memory) {
    cross_entropy(memory.stream, {.type = type,
                                  .samples = samples,
                                  .classes = classes,
                                  .smoothing = smoothing,
                                  .logits = memory.logits,
                                  .grad = memory.gradient,
                                  .labels = memory.labels,
                                  .partner_labels = memory.partner_labels,
                                  .shares = memory.shares,
                                  .predictions = memory.predictions,
                                  .result = memory.result,
                                  .scratch = memory.scratch});
  };
  return loss;
}

}  // namespace lockstep::cuda
