#include "lockstep/error.h"
#include "ops/cuda/kernels/cross_entropy.h"
#include "ops/cuda/kernels/target_loss.h"
#include "ops/cuda/op.h"

namespace lockstep::cuda {
namespace {

/// `smoothing`: fraction of every target that is spread evenly over the classes (Szegedy et al., 2016).
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
