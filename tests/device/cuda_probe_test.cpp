#include "device/cuda_probe.h"

#include <gtest/gtest.h>

namespace lockstep::cuda {
namespace {

Probe one_h200() {
  Probe found;
  found.built_for = 13000;
  found.driver_supports = 13010;
  found.driver = "590.44.01";
  found.gpus = {{.name = "NVIDIA H200", .major = 9, .minor = 0, .memory_bytes = 150754820096}};
  found.cudnn.version = "9.19.0";
  found.nccl.version = "2.28.9";
  return found;
}

// tests/fake_cuda/probe_test.cpp covers programs built with CUDA.

TEST(Obstacle, IsThatTheProgramWasBuiltWithoutCuda) {
  Probe probe = one_h200();
  probe.not_built = "nvcc not found";
  EXPECT_EQ(obstacle(probe).reason, "this program was built without CUDA (nvcc not found)");
  EXPECT_FALSE(obstacle(probe).hint.empty());
}

TEST(Obstacle, TooOldADriverSaysWhichOneIsNeeded) {
  Probe probe = one_h200();
  probe.driver_supports = 12080;
  EXPECT_EQ(obstacle(probe).hint, "install driver 580 or newer, or build lockstep with CUDA 12");
  probe.built_for = 12040;
  probe.driver_supports = 12000;
  EXPECT_EQ(obstacle(probe).hint, "install driver 530 or newer");
  probe.driver_supports = 12010;
  EXPECT_FALSE(obstacle(probe));
}

TEST(ProbeOfThisMachine, DoesNotThrow) {
  const Probe all = probe(Detail::all);
  EXPECT_EQ(why_no_cuda().empty(), !obstacle(all));
  for (const LibraryProbe& library : {all.cudnn, all.nccl}) {
    if (!all.not_built.empty()) continue;
    EXPECT_NE(library.version.empty(), library.failure.empty());
  }
}

}  // namespace
}  // namespace lockstep::cuda
