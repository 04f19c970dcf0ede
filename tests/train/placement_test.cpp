// Table of placement decisions that ranks derive from the facts of all ranks.
#include "train/session/placement.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/expect_error.h"

namespace lockstep {
namespace {

constexpr auto automatic = DeviceKind::automatic;
constexpr auto cpu = DeviceKind::cpu;
constexpr auto cuda = DeviceKind::cuda;

/// Facts of a rank on host "a", "b", ...
RankFacts rank(char host, DeviceKind device, const char* gpu = "", std::uint64_t steps = 0) {
  return {.host = std::string(1, host),
          .host_number = static_cast<std::uint32_t>(host - 'a'),
          .device = device,
          .gpu = std::string(gpu),
          .why_no_gpu = std::string(*gpu == '\0' ? "no driver" : ""),
          .steps_at_once = steps};
}

struct Case {
  const char* name;
  std::vector<RankFacts> ranks;
  std::vector<DeviceKind> devices;
  bool nccl = false;
  Reduce reduce = Reduce::canonical;  ///< as requested
  std::size_t steps_at_once = 1;
  /// Each warning: the rank that prints it, and the beginning of its text.
  std::vector<std::pair<std::size_t, std::string>> warnings = {};
  Transport transport = Transport::automatic;
};

class Placements : public testing::TestWithParam<Case> {};
TEST_P(Placements, AreAlikeOnAllRanks) {
  const Case& expected = GetParam();
  std::vector<std::pair<std::size_t, std::string>> warnings;
  for (std::size_t own = 0; own < expected.ranks.size(); ++own) {
    const Placement placed = place({expected.ranks, own}, expected.transport, expected.reduce);
    EXPECT_EQ(placed.device, expected.devices[own]) << "rank " << own;
    EXPECT_EQ(placed.gpu, placed.device == cuda ? expected.ranks[own].gpu.text() : "") << "rank " << own;
    EXPECT_EQ(placed.all_cuda, std::ranges::count(expected.devices, cuda) == std::ssize(expected.devices));
    EXPECT_EQ(placed.some_cuda, std::ranges::count(expected.devices, cuda) > 0);
    EXPECT_EQ(placed.planner,
              placed.some_cuda ? std::ranges::find(expected.devices, cuda) - expected.devices.begin() : 0);
    EXPECT_EQ(placed.whole_sums,
              placed.reduce == Reduce::ring || (placed.all_cuda && expected.ranks.size() > 1));
    EXPECT_EQ(placed.nccl, expected.nccl) << "rank " << own;
    EXPECT_EQ(placed.reduce, expected.reduce) << "rank " << own;
    EXPECT_EQ(placed.steps_at_once, expected.steps_at_once) << "rank " << own;
    EXPECT_EQ(placed.max_steps_at_once, expected.steps_at_once == 50 ? 512U : expected.steps_at_once);
    for (const std::string& warning : placed.warnings) warnings.emplace_back(own, warning);
  }
  ASSERT_EQ(warnings.size(), expected.warnings.size());
  for (std::size_t i = 0; i < warnings.size(); ++i) {
    EXPECT_EQ(warnings[i].first, expected.warnings[i].first);
    EXPECT_EQ(warnings[i].second.find(expected.warnings[i].second), 0U) << warnings[i].second;
  }
}

std::vector<Case> cases() {
  return {
      {.name = "Cpu", .ranks = {rank('a', cpu)}, .devices = {cpu}},
      {.name = "NoGpus", .ranks = {rank('a', automatic)}, .devices = {cpu}},
      {.name = "OneGpu", .ranks = {rank('a', automatic, "1b")}, .devices = {cuda}, .steps_at_once = 50},
      {.name = "TwoGpus",
       .ranks = {rank('a', automatic, "1b"), rank('a', automatic, "3b")},
       .devices = {cuda, cuda},
       .nccl = true,
       .steps_at_once = 50},
      {.name = "SameAddressOnTwoHosts",
       .ranks = {rank('a', cuda, "1b"), rank('b', cuda, "1b")},
       .devices = {cuda, cuda},
       .nccl = true,
       .steps_at_once = 50},
      {.name = "RingBetweenGpus",
       .ranks = {rank('a', cuda, "1b"), rank('a', cuda, "3b")},
       .devices = {cuda, cuda},
       .nccl = true,
       .reduce = Reduce::ring,
       .steps_at_once = 50},
      {.name = "MoreRanksThanGpusOnOneOfTwoHosts",
       .ranks = {rank('a', automatic, "1b"), rank('b', automatic, "1b"), rank('b', automatic, "1b")},
       .devices = {cpu, cpu, cpu},
       .warnings = {{1, "b has 2 ranks and 1 GPU: falling back to the CPU; start as many ranks as GPUs"}}},
      {.name = "SharedByTransport",
       .ranks = {rank('a', automatic, "1b"), rank('a', automatic, "1b")},
       .devices = {cuda, cuda},
       .steps_at_once = 50,
       .warnings = {{0, "ranks 0 and 1 share GPU 1b of a: gradients travel through the host's memory"}},
       .transport = Transport::shared_memory},
      {.name = "OneHostWithoutGpu",
       .ranks = {rank('a', automatic, "1b"), rank('b', automatic)},
       .devices = {cpu, cpu}},
      {.name = "MixedOnPurpose",
       .ranks = {rank('a', cuda, "1b"), rank('b', cpu)},
       .devices = {cuda, cpu},
       .warnings = {{0, "rank 1 computes on the CPU: gradients travel through the host's memory"}}},
      {.name = "OneLeavesItOpenBesideTheCpu",
       .ranks = {rank('a', cpu), rank('a', automatic, "1b")},
       .devices = {cpu, cuda},
       .warnings = {{0, "rank 0 computes on the CPU: "}}},
      {.name = "FewestSteps",
       .ranks = {rank('a', cuda, "1b", 7), rank('a', cuda, "3b"), rank('b', cuda, "1b", 5000)},
       .devices = {cuda, cuda, cuda},
       .nccl = true,
       .steps_at_once = 7},
      {.name = "ManySteps", .ranks = {rank('a', cuda, "1b", 5000)}, .devices = {cuda}, .steps_at_once = 1000},
  };
}
INSTANTIATE_TEST_SUITE_P(Table, Placements, testing::ValuesIn(cases()),
                         [](const auto& instance) { return instance.param.name; });

std::string refusal(const std::vector<RankFacts>& ranks, std::size_t own) {
  const auto error = error_of([&] { place({ranks, own}, Transport::automatic, Reduce::canonical); });
  EXPECT_TRUE(!error || error->category() == Category::resource);
  return error ? error->what() : "";
}

TEST(Placement, RefusesOnTheRankThatHasNoGpuOfItsOwn) {
  const std::vector<RankFacts> shared{rank('a', cpu), rank('a', cuda, "1b"), rank('a', cuda, "1b")};
  EXPECT_EQ(refusal(shared, 0), "");
  EXPECT_EQ(refusal(shared, 1), "");
  EXPECT_EQ(refusal(shared, 2),
            "ranks 1 and 2 have the same GPU 1b of a: start as many ranks on a host as it has GPUs, or let "
            "them share, which is slow, with --transport shared-memory (on several hosts: messages)");
  const std::vector<RankFacts> missing{rank('a', cuda, "1b"), rank('b', cuda)};
  EXPECT_EQ(refusal(missing, 0), "");
  EXPECT_EQ(refusal(missing, 1), "CUDA is off: no driver");
}

TEST(FixedText, CutsOffWhatDoesNotFit) {
  EXPECT_EQ(FixedText<4>("abc").text(), "abc");
  EXPECT_EQ(FixedText<4>("abcd").text(), "abc");
  EXPECT_TRUE(FixedText<4>().empty());
}

}  // namespace
}  // namespace lockstep
