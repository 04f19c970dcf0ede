#include "lockstep/error.h"
#include "ops/cuda/kernels/cross_entropy.h"
#include "ops/cuda/kernels/target_loss.h"
#include "ops/cuda/op.h"

namespace lockstep::cuda {

Loss plan_loss(Shape logits, int samples, const PlanOptions& options, Type type) {
  const auto outputs = static_cast<int>(logits.size());
  const auto plan_target_loss = [&](void (*kernels)(StreamHandle, const TargetLossTask&)) {
    return Loss{.run = [=](StreamHandle stream, const LossTensors<void>& tensors) {
      kernels(stream, {tensors, type, outputs});
    }};
  };
  switch (options.task) {
    case Task::classification:
      return {.scratch_bytes = cross_entropy_scratch(samples, outputs),
              .run = [=, smoothing = options.label_smoothing](StreamHandle stream,
                                                              const LossTensors<void>& tensors) {
                cross_entropy(stream, {tensors, type, outputs, smoothing});
              }};
    case Task::regression:
      return plan_target_loss(squared_error);
    case Task::multilabel:
      return plan_target_loss(binary_cross_entropy);
  }
  throw Error(Category::internal, "a loss of an unknown task");
}

}  // namespace lockstep::cuda
