// Steps must not allocate memory. The tests count calls of operator new.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "train/small_run.h"

static std::atomic<std::uint64_t> calls{0};

// The thread sanitizer replaces these operators, so allocations are not counted under it.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LOCKSTEP_OPERATORS_ARE_TAKEN
#endif
#endif

#ifndef LOCKSTEP_OPERATORS_ARE_TAKEN
// Replaces all forms of the operators that the library calls, so that memory is freed by the allocator it
// came from.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++calls;
  return std::malloc(bytes);
}
void* operator new(std::size_t bytes) {
  if (void* memory = operator new(bytes, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  ++calls;
  const auto unit = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
#endif

namespace lockstep::test {
namespace {

#ifndef LOCKSTEP_OPERATORS_ARE_TAKEN
TEST(CountAllocations, SeesThem) {
  const std::uint64_t before = calls.load();
  operator delete(operator new(1000));  // explicit calls: compilers may elide new-expressions, but not these
  EXPECT_GT(calls.load(), before);
}
#endif

class AllocationFree : public testing::TestWithParam<OptimizerOptions> {};
INSTANTIATE_TEST_SUITE_P(Rules, AllocationFree,
                         testing::Values(OptimizerOptions{.momentum = 0.5},
                                         OptimizerOptions{.name = "adamw", .clip_grad = 0.1},
                                         OptimizerOptions{.name = "lars", .momentum = 0.9},
                                         OptimizerOptions{.name = "lamb", .clip_grad = 0.1}),
                         [](const auto& instance) { return instance.param.name; });
TEST_P(AllocationFree, TheStepAfterTheFirstEpoch) {
  for (const int threads : {1, 2}) {
    TrainerOptions chosen = options();
    chosen.optimizer = GetParam();
    chosen.learning_rate = 0.001F;
    chosen.model_ema = true;
    chosen.model_ema_decay = 0.99;
    chosen.execution.threads = threads;
    chosen.execution.shares = ShareRule::equal;  // occasional decisions on shares may allocate
    if (threads == 2) chosen = augmented(chosen);
    Trainer trainer = small_trainer(chosen);
    for (std::uint64_t i = 0; i < trainer.steps_per_epoch(); ++i) {
      trainer.steps(1);
    }
    const std::uint64_t before = calls.load();
    for (int i = 0; i < 20; ++i) {
      trainer.steps(1);
    }
    EXPECT_EQ(calls.load() - before, 0U) << threads << " threads";
  }
}

}  // namespace
}  // namespace lockstep::test
