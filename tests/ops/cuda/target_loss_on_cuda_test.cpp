#include <gtest/gtest.h>

#include "ops/cuda/op.h"
#include "ops/cuda/padded_tensor.h"
#include "ops/run_target_loss.h"

namespace lockstep::test {
namespace {

using cuda::Type;

TargetLossResults run_on_cuda(const TargetLossCase& given, Type type, bool gradient = true) {
  const int samples = given.logits.samples;
  const cuda::Loss loss = cuda::plan_loss(given.logits.shape, samples, {.task = given.task}, type);
  const PaddedTensor logits(type, given.logits), grad(type, samples, given.logits.shape);
  const DeviceMemory targets = on_device(given.targets), shares = on_device(given.shares);
  const DeviceMemory result = on_device(std::vector{LeafResult{}});
  run_on_device([&](cuda::StreamHandle stream) {
    cuda::LossMemory memory;
    memory.stream = stream;
    memory.logits = logits.data();
    memory.gradient = gradient ? grad.data() : nullptr;
    memory.targets = targets.floats();
    memory.shares = shares.floats();
    memory.result = reinterpret_cast<LeafResult*>(result.data());
    loss.run(memory);
  });
  EXPECT_TRUE(grad.end_intact());
  EXPECT_TRUE(!gradient || grad.padding_is_zero());
  return {result.fetch_all<LeafResult>().front(), grad.values()};
}

/// Gradients have the CPU's bits; sums are added in another order.
TEST(TargetLossOnCuda, EqualsTheCpu) {
  for (const Task task : {Task::regression, Task::multilabel}) {
    for (const int samples : {1, 17, 300}) {
      for (const int outputs : {1, 7, 40}) {
        for (const Type type : {Type::fp32, Type::tf32, Type::bf16}) {
          for (const bool mixed : {false, true}) {
            TargetLossCase given = random_target_case(task, samples, outputs, 8.0, mixed);
            given.logits = rounded(given.logits, type);
            const TargetLossOnCpu cpu = run_target_loss(given, cpu::best_level());
            const TargetLossResults cuda = run_on_cuda(given, type);
            expect_same_sums(cuda.result, cpu.result, 1e-13);
            expect_same(cuda.grad, from_lanes(cpu.grad, samples, given.logits.shape), type,
                        name_of(task) + " with " + std::to_string(outputs) + " outputs");
          }
        }
      }
    }
  }
}

TEST(TargetLossOnCuda, TheGradientChangesNothingElse) {
  for (const Task task : {Task::regression, Task::multilabel}) {
    const TargetLossCase given = random_target_case(task, 23, 10, 5.0, true);
    expect_same_sums(run_on_cuda(given, Type::fp32, false).result, run_on_cuda(given, Type::fp32).result,
                     0.0);
  }
}

}  // namespace
}  // namespace lockstep::test
