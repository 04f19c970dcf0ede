#include "device/cuda/native/nvml.h"

#include <gtest/gtest.h>

namespace lockstep::cuda {
namespace {

const Nvml& two_gpus() {
  static const Nvml nvml(LOCKSTEP_FAKE_NVML);
  return nvml;
}

TEST(NvmlLibrary, DescribesGpus) {
  EXPECT_EQ(two_gpus().driver_version(), "580.95.05");
  GpuProbe first, second;
  two_gpus().describe(two_gpus().device("0000:01:00.0"), first);
  two_gpus().describe(two_gpus().device("0000:02:00.0"), second);
  EXPECT_EQ(first.free_bytes, 70U);
  EXPECT_EQ(first.processes, 2);
  EXPECT_EQ(second.processes, 0);
  EXPECT_EQ(first.mode, ComputeMode::shared);
  EXPECT_EQ(second.mode, ComputeMode::exclusive_process);
  EXPECT_EQ(first.nvlinks, 17);
}

TEST(NvmlLibrary, DescribesLinks) {
  const auto first = two_gpus().device("0000:01:00.0"), second = two_gpus().device("0000:02:00.0");
  const LinkProbe link = two_gpus().link(first, second);
  EXPECT_EQ(link.path, "NVLink");
  EXPECT_TRUE(link.direct);
  const LinkProbe other = two_gpus().link(first, first);
  EXPECT_EQ(other.path, "one PCIe host bridge");
  EXPECT_FALSE(other.direct);
}

TEST(NvmlLibrary, KnowsNothingOfForeignGpus) {
  EXPECT_EQ(two_gpus().device("0000:03:00.0"), nullptr);
  EXPECT_EQ(two_gpus().link(nullptr, nullptr).path, "unknown");
}

TEST(NvmlLibrary, MayBeMissing) {
  const Nvml none("libno-such-library.so.1");
  EXPECT_EQ(none.driver_version(), "");
  EXPECT_EQ(none.device("0000:01:00.0"), nullptr);
  GpuProbe gpu;
  none.describe(none.device("0000:01:00.0"), gpu);
  EXPECT_FALSE(gpu.free_bytes);
}

}  // namespace
}  // namespace lockstep::cuda
