#include "cli/doctor/findings.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/text.h"

namespace lockstep {
namespace {

using test::expect_holds;

constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;

cuda::GpuProbe h200(const std::string& bus) {
  return {.name = "NVIDIA H200",
          .major = 9,
          .minor = 0,
          .memory_bytes = 140 * gibibyte,
          .free_bytes = 139 * gibibyte,
          .bus = bus,
          .nvlinks = 18};
}

cuda::Probe machine(int gpus) {
  cuda::Probe probe;
  probe.built_for = 13000;
  probe.driver_supports = 13000;
  probe.driver = "580.95.05";
  probe.cudnn.version = "9.19.0";
  probe.nccl.version = "2.28.9";
  for (int i = 0; i < gpus; ++i) probe.gpus.push_back(h200("0000:0" + std::to_string(i + 1) + ":00.0"));
  for (int i = 0; i < gpus; ++i) {
    for (int k = i + 1; k < gpus; ++k) {
      probe.links.push_back({.first = i, .second = k, .path = "NVLink", .direct = true});
    }
  }
  return probe;
}

std::string text(const std::vector<Finding>& findings) {
  std::string all;
  for (const Finding& finding : findings) all += text_of(finding);
  return all;
}

TEST(CudaFindings, OneGpu) {
  EXPECT_EQ(text(describe_cuda(machine(1), {})),
            "CUDA           13.0, 1 GPU\n"
            "NVIDIA driver  580.95.05, for CUDA up to 13.0\n"
            "GPU 0          NVIDIA H200, compute capability 9.0, 140.0 GiB of memory, 139.0 GiB free, PCI "
            "0000:01:00.0\n"
            "cuDNN          9.19.0\n"
            "NCCL           2.28.9\n");
}

TEST(CudaFindings, EqualLinksAreOneLine) {
  expect_holds(text(describe_cuda(machine(3), {})),
               "links          each pair of GPUs: NVLink (18 of each GPU)\n");
  cuda::Probe mixed = machine(3);
  mixed.links[1] = {.first = 0, .second = 2, .path = "PCIe and the link between processors"};
  const std::string lines = text(describe_cuda(mixed, {}));
  expect_holds(lines, "link 0-1       NVLink (18 of each GPU)\n");
  expect_holds(lines, "link 0-2       PCIe and the link between processors, through the host's memory\n");
}

TEST(CudaFindings, SharedAndUsedGpusAreRemarked) {
  cuda::Probe probe = machine(1);
  probe.gpus[0].processes = 2;
  const std::string lines = text(describe_cuda(probe, {.ranks = 4, .local_ranks = 4, .wants_cuda = true}));
  expect_holds(lines, ", used by 2 processes\n               hint: other processes use it");
  expect_holds(lines, "4 ranks share 1 GPU\n               needed: start 1 rank on this host; --device");
  const std::string allowed =
      text(describe_cuda(probe, {.ranks = 4, .local_ranks = 4, .wants_cuda = true, .through_host = true}));
  expect_holds(allowed, "4 ranks share 1 GPU\n               hint: ");
}

TEST(CudaFindings, EachRankMaySeeAnotherGpu) {
  EXPECT_FALSE(describe_sharing(machine(1), {.ranks = 8, .local_ranks = 8, .local_gpus = 8}));
  expect_holds(text_of(describe_sharing(machine(1), {.ranks = 8, .local_ranks = 8, .local_gpus = 4}).value()),
               "8 ranks share 4 GPUs\n");
}

TEST(CudaFindings, MissingNcclMattersToSeveralRanks) {
  cuda::Probe probe = machine(2);
  probe.nccl = {.failure = "libnccl.so.2: no such file"};
  expect_holds(text(describe_cuda(probe, {})),
               "NCCL           cannot be opened (libnccl.so.2: no such file)\n");
  const auto worst = [&](const Launched& launched) {
    const std::vector<Finding> findings = describe_cuda(probe, launched);
    return std::ranges::max(findings, {}, &Finding::state).state;
  };
  EXPECT_EQ(worst({}), Finding::State::well);
  EXPECT_EQ(worst({.ranks = 2, .local_ranks = 2}), Finding::State::remark);
  EXPECT_EQ(worst({.ranks = 2, .local_ranks = 2, .wants_cuda = true}), Finding::State::missing);
  EXPECT_EQ(worst({.ranks = 2, .local_ranks = 2, .wants_cuda = true, .through_host = true}),
            Finding::State::well);
}

TEST(CudaFindings, WhatIsMissingIsAFailureWhereItWasAskedFor) {
  cuda::Probe probe = machine(0);
  probe.driver_supports = 0;
  EXPECT_EQ(describe_cuda(probe, {}).front().state, Finding::State::remark);
  EXPECT_EQ(describe_cuda(probe, {.wants_cuda = true}).front().state, Finding::State::missing);
}

TEST(CudaFindings, WithoutCudaOneLine) {
  cuda::Probe probe;
  probe.not_built = "nvcc not found";
  EXPECT_EQ(describe_cuda(probe, {}).size(), 1U);
}

TEST(HostFindings, LimitsMatterWhereTheyAreUsed) {
  HostProbe host{.memory_bytes = 24 * gibibyte,
                 .memory_free = 23 * gibibyte,
                 .lock_limit = 8 << 20,
                 .shared_bytes = 63 << 20,
                 .shared_free = 63 << 20};
  EXPECT_EQ(
      text(describe_host(host, {})),
      "memory         24.0 GiB, 23.0 GiB free\nlock limit     8 MiB\n/dev/shm       63 MiB, 63 MiB free\n");
  const auto hints = [&](const Launched& launched) {
    return std::ranges::count(describe_host(host, launched), Finding::State::remark, &Finding::state);
  };
  EXPECT_EQ(hints({.ranks = 4, .local_ranks = 4}), 1);              // 63 MiB for four ranks
  EXPECT_EQ(hints({.ranks = 8, .local_ranks = 4, .hosts = 2}), 2);  // and a hint about InfiniBand
  host.lock_limit.reset();
  host.shared_bytes.reset();
  EXPECT_EQ(text(describe_host(host, {.ranks = 2, .hosts = 2})),
            "memory         24.0 GiB, 23.0 GiB free\nlock limit     none\n/dev/shm       not there\n"
            "               hint: mount a tmpfs there: MPI and NCCL need it\n");
}

}  // namespace
}  // namespace lockstep
