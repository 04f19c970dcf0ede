#include "train/cuda/cuda_leaf_runner.h"

#include <gtest/gtest.h>

#include "device/cuda/cuda_device.h"
#include "fake_cuda/fake_cuda.h"
#include "ops/cuda/dnn/cudnn.h"
#include "support/expect_error.h"
#include "train/small_run.h"

namespace lockstep {
namespace {

TEST(CudaLeafRunner, SaysWhatWouldFitWhereMemoryIsShort) {
  const auto device = cuda::make_cuda_device();
  const auto dnn = cuda::make_cudnn({});
  const cuda::CudaPlan plan(build_graph(test::small_network()),
                            layout_arena(test::small_network().parameters()),
                            {.samples = 32, .training = true}, cuda::Type::fp32, *dnn);
  const Loader loader(test::train_set(), 32);
  fake_cuda::set_facts({.gpus = {{.memory = plan.workspace_bytes() / 2}}});
  expect_error(Category::resource, {"micro-batches of 32 samples", "up to 16 samples fit"},
               [&] { cuda::make_cuda_leaf_runner(*device, plan, loader, nullptr); });
  fake_cuda::set_facts({});
}

}  // namespace
}  // namespace lockstep
