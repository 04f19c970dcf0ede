#include "ops/cpu/kernels/cross_entropy.h"
#include "ops/cpu/op.h"

namespace lockstep::cpu {

Op plan_cross_entropy(Shape logits, float smoothing, Level level) {
  const CrossEntropyKernels& kernels = cross_entropy_kernels(level);
  const int classes = static_cast<int>(logits.size());
  Op op;
  op.forward = [&kernels, classes, smoothing](const OpMemory& memory) {
    CrossEntropyTask task{};
    task.groups = groups_of(memory.samples);
    task.classes = classes;
    task.smoothing = smoothing;
    task.logits = memory.inputs[0];
    task.labels = memory.labels;
    task.other_labels = memory.other_labels;
    task.shares = memory.shares;
    task.predictions = memory.predictions;
    task.grad = memory.grad_inputs[0];
    kernels.run(task);
    memory.result->loss = task.loss;
    memory.result->correct = task.correct;
    memory.result->correct5 = task.correct5;
  };
  op.backward = [](const OpMemory&) {};
  return op;
}

}  // namespace lockstep::cpu
