#include "lockstep/error.h"
#include "ops/cpu/kernels/cross_entropy.h"
#include "ops/cpu/kernels/target_loss.h"
#include "ops/cpu/op.h"

namespace lockstep::cpu {
namespace {

/// `smoothing`: fraction of each target that is distributed evenly over all classes (Szegedy et al., 2016).
Loss plan_cross_entropy(Shape logits, float smoothing, Level level) {
  const CrossEntropyKernels& kernels = cross_entropy_kernels(level);
  const int classes = static_cast<int>(logits.size());
  return [&kernels, classes, smoothing](const LossMemory& memory) {
    CrossEntropyTask task{};
    task.groups = groups_of(memory.samples);
    task.classes = classes;
    task.smoothing = smoothing;
    task.logits = memory.logits;
    task.labels = memory.labels;
    task.partner_labels = memory.partner_labels;
    task.shares = memory.shares;
    task.predictions = memory.predictions;
    task.grad = memory.gradient;
    kernels.run(task);
    memory.result->loss = task.loss;
    memory.result->correct = task.correct;
    memory.result->correct5 = task.correct5;
    memory.result->samples = static_cast<std::uint64_t>(memory.samples);
  };
}

using TargetLossKernel = void (*)(TargetLossTask&);

Loss plan_target_loss(Shape logits, TargetLossKernel run) {
  const int outputs = static_cast<int>(logits.size());
  return [run, outputs](const LossMemory& memory) {
    TargetLossTask task{};
    task.samples = memory.samples;
    task.outputs = outputs;
    task.logits = memory.logits;
    task.targets = memory.targets;
    task.shares = memory.shares;
    task.grad = memory.gradient;
    run(task);
    *memory.result = {.loss = task.loss,
                      .correct = task.right,
                      .samples = static_cast<std::uint64_t>(memory.samples),
                      .absolute_error = task.absolute_error,
                      .target = task.target,
                      .squared_target = task.squared_target};
  };
}

}  // namespace

Loss plan_loss(Shape logits, const PlanOptions& options, Level level) {
  switch (options.task) {
    case Task::classification:
      return plan_cross_entropy(logits, options.label_smoothing, level);
    case Task::regression:
      return plan_target_loss(logits, target_loss_kernels(level).squared_error);
    case Task::multilabel:
      return plan_target_loss(logits, target_loss_kernels(level).binary_cross_entropy);
  }
  throw Error(Category::internal, "a loss of an unknown task");
}

}  // namespace lockstep::cpu
