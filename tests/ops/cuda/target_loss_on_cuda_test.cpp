#include <gtest/gtest.h>

#include "ops/cuda/run_cuda_loss.h"

namespace lockstep::test {
namespace {

using cuda::Type;

/// Gradients have the CPU's bits; losses are summed in a different order.
TEST(TargetLossOnCuda, EqualsTheCpu) {
  for (const Task task : {Task::regression, Task::multilabel}) {
    for (const int samples : {1, 17, 300}) {
      for (const int outputs : {1, 7, 40}) {
        for (const Type type : {Type::fp32, Type::tf32, Type::bf16}) {
          for (const bool mixed : {false, true}) {
            LossCase given = random_target_case(task, samples, outputs, 8.0, mixed);
            given.logits = rounded(given.logits, type);
            const LossResults cpu = run_loss(given, cpu::best_level());
            const LossValues cuda = run_cuda_loss(given, type);
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
    const LossCase given = random_target_case(task, 23, 10, 5.0, true);
    expect_same_sums(run_cuda_loss(given, Type::fp32, false).result, run_cuda_loss(given, Type::fp32).result,
                     0.0);
  }
}

}  // namespace
}  // namespace lockstep::test
