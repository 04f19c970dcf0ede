// Training runs on a failing GPU of the fake CUDA runtime: each ends with an error of category resource that
// names the GPU and the reason, and leaves no objects behind.
#include <gtest/gtest.h>

#include "fake_cuda/fake_cuda.h"
#include "support/expect_error.h"
#include "train/small_run.h"

namespace lockstep {
namespace {

class FailingGpu : public testing::TestWithParam<bool> {
 protected:
  void TearDown() override { fake_cuda::recover(); }

  static void train() {
    TrainerOptions chosen = test::options();
    chosen.epochs = 1;
    chosen.reduce = Reduce::canonical;
    chosen.execution.device = DeviceKind::cuda;
    chosen.execution.cuda_graph = GetParam();
    test::small_trainer(chosen).fit();
  }
  /// Makes call number `later` + 1 of a function fail. Expects an error that contains `text`, and no objects
  /// left behind. Returns whether there was such a call and all expectations hold.
  static bool fails(const std::string& function, cudaError_t code, int later, const std::string& text) {
    const std::string before = fake_cuda::live_objects();
    fake_cuda::fail(function, code, later);
    const auto error = error_of(train);
    fake_cuda::recover();
    if (!error) return false;
    EXPECT_EQ(error->category(), Category::resource) << error->what();
    test::expect_holds(error->what(), text);
    EXPECT_TRUE(std::string(error->what()).starts_with("GPU 0: ")) << error->what();
    EXPECT_EQ(fake_cuda::live_objects(), before) << function << ", call " << later;
    return !HasFailure();  // stop: every further call might fail, too
  }
};
INSTANTIATE_TEST_SUITE_P(Graphs, FailingGpu, testing::Bool(),
                         [](const auto& with) { return with.param ? "on" : "off"; });

TEST_P(FailingGpu, OutOfMemoryInAnyAllocation) {
  int calls = 0;
  while (fails("cudaMalloc", cudaErrorMemoryAllocation, calls, "not enough memory")) ++calls;
  EXPECT_GT(calls, 5);
}

TEST_P(FailingGpu, OutOfPinnedMemoryInAnyAllocation) {
  int calls = 0;
  while (fails("cudaMallocHost", cudaErrorMemoryAllocation, calls, "(cudaErrorMemoryAllocation)")) ++calls;
  EXPECT_GT(calls, 0);
}

TEST_P(FailingGpu, AKernelFailsAtFirstOrLater) {
  for (const int later : {0, 1, 5}) {
    EXPECT_TRUE(fails("kernel", cudaErrorIllegalAddress, later, "(cudaErrorIllegalAddress)")) << later;
  }
}

/// CUDA returns this error if another process holds the GPU exclusively (compute mode "exclusive process").
TEST_P(FailingGpu, InUseByAnotherProcess) {
  EXPECT_TRUE(
      fails("cudaInitDevice", cudaErrorDevicesUnavailable, 0,
            "(cudaErrorDevicesUnavailable); another process may have it for itself: nvidia-smi lists them"));
}

/// Tries calls after those of the probe: first every call, then calls at growing distances.
TEST_P(FailingGpu, AnyCallOfTheRuntime) {
  int later = 15, calls = 0;
  while (fails("any", cudaErrorIllegalAddress, later, "(cudaErrorIllegalAddress)")) {
    ++calls;
    later += 1 + later / 4;
  }
  EXPECT_GT(calls, 10) << later;
}

}  // namespace
}  // namespace lockstep
