#include "ops/cpu/level.h"
#include "ops/cpu/op.h"

namespace lockstep::cpu {

Op plan_cross_entropy(Shape logits, Level level) {
  const Kernels& kernels = kernels_of(level);
  const int classes = static_cast<int>(logits.size());
  Op op;
  op.forward = [&kernels, classes](const OpMemory& memory) {
    CrossEntropyTask task{};
    task.groups = groups_of(memory.samples);
    task.classes = classes;
    task.logits = memory.inputs[0];
    task.labels = memory.labels;
    task.grad = memory.grad_inputs[0];
    kernels.cross_entropy(task);
    memory.result->loss = task.loss;
    memory.result->correct = task.correct;
  };
  op.backward = [](const OpMemory&) {};
  return op;
}

}  // namespace lockstep::cpu
