#include <gtest/gtest.h>

#include "comm/agreement.h"
#include "comm/gpu_communicator.h"
#include "reduce/thread_ranks.h"

namespace lockstep {
namespace {

/// What all ranks are told, which have these places.
std::string reason_for(const std::vector<GpuPlace>& places) {
  std::vector<std::string> answers(places.size());
  run_as_ranks(static_cast<int>(places.size()), [&](Communicator& host) {
    const auto rank = static_cast<std::size_t>(host.rank());
    answers[rank] = why_not_nccl(host, places[rank], GpuSharing::allowed);
  });
  for (const std::string& answer : answers) EXPECT_EQ(answer, answers[0]);
  return answers[0];
}

TEST(WhyNotNccl, IsEmptyWhereEveryRankHasItsOwn) {
  EXPECT_EQ(reason_for({{"a", "0000:1b:00"}}), "");
  EXPECT_EQ(reason_for({{"a", "0000:1b:00"}, {"a", "0000:3b:00"}}), "");
}

TEST(WhyNotNccl, IsEmptyWhereHostsHaveTheSameAddresses) {
  EXPECT_EQ(reason_for({{"a", "0000:1b:00"}, {"b", "0000:1b:00"}}), "");
}

TEST(WhyNotNccl, NamesTheFirstTwoRanksOfAGpu) {
  EXPECT_EQ(reason_for({{"a", "0000:1b:00"}, {"b", "0000:1b:00"}, {"b", "0000:3b:00"}, {"b", "0000:1b:00"}}),
            "ranks 1 and 3 share GPU 0000:1b:00 of b");
}

TEST(WhyNotNccl, MayRefuseThatRanksShareAGpu) {
  const std::vector<GpuPlace> places{
      {"a", ""}, {"a", "0000:1b:00"}, {"a", "0000:1b:00"}, {"a", "0000:1b:00"}};
  run_as_ranks(4, [&](Communicator& host) {
    try {
      why_not_nccl(host, places[static_cast<std::size_t>(host.rank())], GpuSharing::refused);
      ADD_FAILURE() << "nobody refused";
    } catch (const AgreedError& error) {
      EXPECT_EQ(error.category(), Category::resource);
      EXPECT_EQ(dynamic_cast<const PeerFailure*>(&error) == nullptr, host.rank() == 2) << "one line";
      if (host.rank() != 2) return;
      EXPECT_STREQ(
          error.what(),
          "ranks 1 and 2 have the same GPU, 0000:1b:00 of a: start as many ranks on a host as it has GPUs, "
          "or "
          "let them share, which is slow, with --transport shared-memory (on several hosts: messages)");
    }
  });
}

TEST(WhyNotNccl, NamesARankWithoutGpu) {
  EXPECT_EQ(reason_for({{"a", "0000:1b:00"}, {"a", ""}, {"a", ""}}), "rank 1 has no GPU");
}

TEST(Agreement, IsTheLowestFailingRanksReason) {
  run_as_ranks(4, [](Communicator& host) {
    agree(host, [] {});
    try {
      agree(host, [&] {
        if (host.rank() % 2 == 1) throw Error(Category::data, "the reason of " + std::to_string(host.rank()));
      });
      ADD_FAILURE() << "rank " << host.rank() << " knows of no failure";
    } catch (const PeerFailure& error) {
      EXPECT_NE(host.rank(), 1);
      EXPECT_STREQ(error.what(), "rank 1 failed");
      EXPECT_EQ(error.category(), Category::data);
    } catch (const AgreedError& error) {
      EXPECT_EQ(host.rank(), 1);
      EXPECT_STREQ(error.what(), "the reason of 1");
    }
  });
}

}  // namespace
}  // namespace lockstep
