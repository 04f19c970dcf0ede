#include "ops/cpu/kernels/cross_entropy.h"
#include "ops/cpu/op.h"

namespace lockstep::cpu {

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

}  // namespace lockstep::cpu
