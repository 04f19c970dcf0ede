// Probes machines on which a part of CUDA is missing or fails: checks the facts found and the text that users
// read.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <functional>

#include "cli/doctor/findings.h"
#include "device/cuda/native/nvml.h"
#include "device/cuda_probe.h"
#include "fake_cuda/fake_cuda.h"
#include "support/expect_error.h"
#include "train/small_run.h"

namespace lockstep::cuda {
namespace {

using fake_cuda::MachineFacts;
using Names = std::set<std::string>;

constexpr int this_major = CUDART_VERSION / 1000;
const Names all_calls = {"cudaDriverGetVersion", "cudaGetDeviceCount", "cudaGetDeviceProperties",
                         "cudaDeviceGetPCIBusId"};

class NativeProbe : public testing::Test {
 protected:
  void SetUp() override {
    unsetenv("CUDA_VISIBLE_DEVICES");
    fake_cuda::take_calls();
  }
  void TearDown() override {
    fake_cuda::set_facts({});
    fake_cuda::recover();
    unsetenv("CUDA_VISIBLE_DEVICES");
  }
};

TEST_F(NativeProbe, DescribesAMachineWithoutCreatingAContext) {
  fake_cuda::set_facts({.gpus = {{}, {.name = "another", .major = 10, .minor = 3, .mode = 3}}});
  setenv("CUDA_VISIBLE_DEVICES", "4,5", 1);
  const Probe found = probe(Detail::all);
  EXPECT_EQ(found.built_for, CUDART_VERSION);
  EXPECT_EQ(found.driver_supports, CUDART_VERSION);
  EXPECT_EQ(found.driver, "580.95.05");
  EXPECT_EQ(found.visible_devices, "4,5");
  EXPECT_EQ(found.failure, "");
  ASSERT_EQ(found.gpus.size(), 2U);
  EXPECT_EQ(found.gpus[0].name, "emulated");
  EXPECT_EQ(found.gpus[0].memory_bytes, std::uint64_t{4} << 30);
  EXPECT_EQ(found.gpus[1].bus, "0000:01:00.0");
  EXPECT_EQ(found.gpus[1].minor, 3);
  EXPECT_EQ(found.gpus[1].mode, ComputeMode::exclusive_process);
  EXPECT_EQ(found.links.size(), 1U);
  EXPECT_EQ(found.cudnn.version, "9.19.0");
  EXPECT_EQ(found.nccl.version, "2.28.9");
  EXPECT_EQ(why_no_cuda(), "");
  EXPECT_EQ(fake_cuda::take_calls(), all_calls);
}

TEST_F(NativeProbe, DescribesMemoryProcessesAndLinks) {
  const fake_cuda::Gpu linked{.free = 70, .processes = 2, .nvlinks = 17};
  fake_cuda::set_facts({.gpus = {linked, linked, {}}, .common_ancestor = 30});
  const Probe found = probe(Detail::all);
  EXPECT_EQ(found.gpus.at(0).free_bytes, 70U);
  EXPECT_EQ(found.gpus[0].processes, 2);
  EXPECT_EQ(found.gpus[0].nvlinks, 17);
  EXPECT_FALSE(found.gpus[2].free_bytes);
  EXPECT_EQ(found.gpus[2].processes, 0);
  ASSERT_EQ(found.links.size(), 3U);
  EXPECT_EQ(found.links[0].path, "NVLink");
  EXPECT_TRUE(found.links[0].direct);
  EXPECT_EQ(found.links[1].path, "one PCIe host bridge");
  EXPECT_FALSE(found.links[1].direct);
}

/// NVML may be missing, or may not know a GPU.
TEST(NvmlLibrary, AnswersNothingOfWhatItDoesNotKnow) {
  const Nvml none("libno-such-library.so.1"), nvml;
  EXPECT_EQ(none.driver_version(), "");
  EXPECT_EQ(none.device("0000:00:00.0"), nullptr);
  EXPECT_EQ(nvml.device("0000:03:00.0"), nullptr);
  EXPECT_EQ(nvml.link(nullptr, nullptr).path, "unknown");
  GpuProbe gpu;
  nvml.describe(nullptr, gpu);
  EXPECT_FALSE(gpu.free_bytes);
}

/// A machine on which no rank can use a GPU.
struct Case {
  std::string reason;  ///< part of the expected reason
  std::string hint;
  MachineFacts facts = {};
  std::function<void()> prepare = [] {};
  Names calls = all_calls;
};

std::vector<Case> cases() {
  const int old = (this_major - 1) * 1000 + 40;
  const auto failing = [](const char* function, cudaError_t code, int later = 0) {
    return [=] { fake_cuda::fail(function, code, later); };
  };
  return {
      {.reason = "there is no NVIDIA driver",
       .hint = "install one; in a container: docker run --gpus all, or --nv of Apptainer",
       .facts = {.driver_supports = 0},
       .calls = {"cudaDriverGetVersion"}},
      {.reason =
           fmt::format("the NVIDIA driver 550.54.15 is too old: it is for CUDA {}, this program for CUDA {}",
                       cuda_version_text(old), cuda_version_text(CUDART_VERSION)),
       .hint = fmt::format(" or newer, or build lockstep with CUDA {}", this_major - 1),
       .facts = {.driver_supports = old, .driver = "550.54.15"},
       .calls = {"cudaDriverGetVersion"}},
      {.reason = "CUDA does not start: the fake CUDA refuses (cudaErrorSystemDriverMismatch)",
       .hint = "check nvidia-smi and dmesg",
       .prepare = failing("cudaDriverGetVersion", cudaErrorSystemDriverMismatch),
       .calls = {"cudaDriverGetVersion"}},
      {.reason = "CUDA does not start: the fake CUDA refuses (cudaErrorSystemNotReady)",
       .hint = "check nvidia-smi and dmesg",
       .prepare = failing("cudaGetDeviceCount", cudaErrorSystemNotReady),
       .calls = {"cudaDriverGetVersion", "cudaGetDeviceCount"}},
      {.reason = "CUDA does not start: GPU 1 does not answer",
       .hint = "check nvidia-smi and dmesg",
       .facts = {.gpus = {{}, {}}},
       .prepare = failing("cudaGetDeviceProperties", cudaErrorUnknown, 1)},
      {.reason = "CUDA does not start: GPU 0 does not answer",
       .hint = "check nvidia-smi and dmesg",
       .prepare = failing("cudaDeviceGetPCIBusId", cudaErrorUnknown)},
      {.reason = "the NVIDIA driver finds no GPU",
       .hint = "request one: docker run --gpus all, sbatch --gpus-per-node; check nvidia-smi",
       .facts = {.gpus = {}},
       .calls = {"cudaDriverGetVersion", "cudaGetDeviceCount"}},
      {.reason = "no GPU is visible, CUDA_VISIBLE_DEVICES is '7'",
       .hint = "unset CUDA_VISIBLE_DEVICES, or name GPUs of nvidia-smi -L in it",
       .facts = {.gpus = {}},
       .prepare = [] { setenv("CUDA_VISIBLE_DEVICES", "7", 1); },
       .calls = {"cudaDriverGetVersion", "cudaGetDeviceCount"}},
      {.reason = "GPU 1 (old GPU) has compute capability 7.5, 8.0 is required",
       .hint = "hide it with CUDA_VISIBLE_DEVICES",
       .facts = {.gpus = {{}, {.name = "old GPU", .major = 7, .minor = 5}}}},
      {.reason = "GPU 0 (emulated) is in compute mode 'prohibited'",
       .hint = "nvidia-smi -c 0, or hide it with CUDA_VISIBLE_DEVICES",
       .facts = {.gpus = {{.mode = 2}}}},
      {.reason = "cuDNN cannot be opened (libcudnn.so.9: no such file)",
       .hint = "install cuDNN 9, or put its folder into LD_LIBRARY_PATH",
       .facts = {.cudnn = 0}},
  };
}

TEST_F(NativeProbe, SaysWhyThereIsNoCudaAndWhatToDo) {
  for (const Case& each : cases()) {
    SetUp();
    fake_cuda::set_facts(each.facts);
    each.prepare();
    const Probe found = probe(Detail::needed);
    const Obstacle why = obstacle(found);
    EXPECT_EQ(why.reason, each.reason);
    EXPECT_NE(why.hint.find(each.hint), std::string::npos) << each.reason << ": " << why.hint;
    EXPECT_EQ(fake_cuda::take_calls(), each.calls) << each.reason;
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << each.reason << ": left for the next call";
    each.prepare();
    EXPECT_EQ(why_no_cuda(), why.reason + "; " + why.hint);
    TearDown();
  }
}

TEST_F(NativeProbe, IsWhatDoctorPrints) {
  for (const Case& each : cases()) {
    fake_cuda::set_facts(each.facts);
    each.prepare();
    const std::vector<Finding> findings = describe_cuda(probe(Detail::all), {.wants_cuda = true});
    EXPECT_EQ(
        text_of(findings.at(0)).find("CUDA           off: " + each.reason + "\n               needed: "), 0U)
        << text_of(findings.at(0));
    EXPECT_EQ(findings.at(1).name, "NVIDIA driver");
    TearDown();
  }
}

TEST_F(NativeProbe, EndsTrainingsOnTheGpu) {
  const std::string before = fake_cuda::live_objects();
  for (const Case& each : cases()) {
    fake_cuda::set_facts(each.facts);
    each.prepare();
    TrainerOptions chosen = test::options();
    chosen.execution.device = DeviceKind::cuda;
    expect_error(Category::resource, {"CUDA is off: " + each.reason}, [&] { test::small_trainer(chosen); });
    EXPECT_EQ(fake_cuda::live_objects(), before) << each.reason;
    TearDown();
  }
}

TEST_F(NativeProbe, DoesWithoutNccl) {
  fake_cuda::set_facts({.nccl = 0});
  EXPECT_EQ(probe(Detail::all).nccl.failure, "libnccl.so.2: no such file");
  EXPECT_EQ(why_no_cuda(), "");
}

}  // namespace
}  // namespace lockstep::cuda
