#include "device/cuda_probe.h"

#include <gtest/gtest.h>

#include <functional>

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

struct Case {
  std::string reason;
  std::function<void(Probe&)> damage;
};
const Case cases[] = {
    {"this program was built without CUDA (nvcc not found)",
     [](Probe& probe) { probe.not_built = "nvcc not found"; }},
    {"there is no NVIDIA driver", [](Probe& probe) { probe.driver_supports = 0; }},
    {"the NVIDIA driver 550.54.15 is too old: it is for CUDA 12.4, this program for CUDA 13.0",
     [](Probe& probe) {
       probe.driver = "550.54.15";
       probe.driver_supports = 12040;
     }},
    {"CUDA does not start: system not yet initialized",
     [](Probe& probe) { probe.failure = "system not yet initialized"; }},
    {"the NVIDIA driver finds no GPU", [](Probe& probe) { probe.gpus.clear(); }},
    {"no GPU is visible, CUDA_VISIBLE_DEVICES is ''",
     [](Probe& probe) {
       probe.gpus.clear();
       probe.visible_devices = "";
     }},
    {"GPU 1 (Tesla V100) has compute capability 7.0, 8.0 is required",
     [](Probe& probe) { probe.gpus.push_back({.name = "Tesla V100", .major = 7, .minor = 0}); }},
    {"GPU 0 (NVIDIA H200) is in compute mode 'prohibited'",
     [](Probe& probe) { probe.gpus[0].mode = ComputeMode::prohibited; }},
    {"cuDNN cannot be opened (no such file)",
     [](Probe& probe) { probe.cudnn = {.failure = "no such file"}; }},
};

TEST(Obstacle, NamesWhatKeepsFromComputingAndWhatToDo) {
  for (const Case& one : cases) {
    Probe probe = one_h200();
    one.damage(probe);
    const Obstacle found = obstacle(probe);
    EXPECT_EQ(found.reason, one.reason);
    EXPECT_FALSE(found.hint.empty()) << one.reason;
  }
}

TEST(Obstacle, NoneWhereAllIsThere) {
  Probe probe = one_h200();
  EXPECT_FALSE(obstacle(probe));
  probe.nccl = {.failure = "no such file"};  // the host exchanges instead
  probe.driver_supports = 13000;
  EXPECT_FALSE(obstacle(probe));
}

TEST(Obstacle, TooOldADriverSaysWhichOneIsNeeded) {
  Probe probe = one_h200();
  probe.driver_supports = 12080;
  EXPECT_EQ(obstacle(probe).hint, "install driver 580 or newer, or build lockstep with CUDA 12");
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
