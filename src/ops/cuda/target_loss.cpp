#include "ops/cuda/kernels/target_loss.h"

#include "lockstep/error.h"
#include "ops/cuda/op.h"

namespace lockstep::cuda {
namespace {

using TargetLossKernel = void (*)(StreamHandle, const TargetLossTask&);

Loss plan_target_loss(Shape logits, int samples, Type type, TargetLossKernel run) {
  const auto outputs = static_cast<int>(logits.size());
  Loss loss;
  loss.run = [=](const LossMemory& memory) {
    run(memory.stream, {.type = type,
                        .samples = samples,
                        .outputs = outputs,
                        .logits = memory.logits,
                        .grad = memory.gradient,
                        .targets = memory.targets,
                        .shares = memory.shares,
                        .result = memory.result});
  };
  return loss;
}

}  // namespace

Loss plan_loss(Shape logits, int samples, const PlanOptions& options, Type type) {
  switch (options.task) {
    case Task::classification:
      return plan_cross_entropy(logits, samples, options.label_smoothing, type);
    case Task::regression:
      return plan_target_loss(logits, samples, type, squared_error);
    case Task::multilabel:
      return plan_target_loss(logits, samples, type, binary_cross_entropy);
  }
  throw Error(Category::internal, "a loss of an unknown task");
}

}  // namespace lockstep::cuda
