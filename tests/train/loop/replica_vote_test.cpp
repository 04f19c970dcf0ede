#include "train/loop/replica_vote.h"

#include <gtest/gtest.h>

#include "support/text.h"

namespace lockstep {
namespace {

/// Vote among ranks that each have their own copy, with first hash words `words`.
ReplicaVote vote_of(const std::vector<std::uint64_t>& words) {
  std::vector<ReplicaHash> ranks;
  for (std::size_t rank = 0; rank < words.size(); ++rank) ranks.push_back({rank, {words[rank], 7}});
  return vote(ranks);
}

TEST(ReplicaVote, NamesTheMinorityOrAllWithoutMajority) {
  EXPECT_EQ(vote_of({5}), ReplicaVote());
  EXPECT_EQ(vote_of({5, 5, 5}), ReplicaVote());
  EXPECT_EQ(vote_of({5, 5, 6}), (ReplicaVote{.differing = {2}}));
  EXPECT_EQ(vote_of({6, 5, 5}), (ReplicaVote{.differing = {0}}));
  EXPECT_EQ(vote_of({6, 5, 5, 8, 5}), (ReplicaVote{.differing = {0, 3}}));
  EXPECT_EQ(vote_of({5, 6}), (ReplicaVote{.differing = {0, 1}, .majority = false}));
  EXPECT_EQ(vote_of({5, 5, 6, 6}), (ReplicaVote{.differing = {0, 1, 2, 3}, .majority = false}));
}

TEST(ReplicaVote, EachCopyHasOneVote) {
  // Three ranks of one host share a copy that differs from the copies of two other hosts.
  const std::vector<ReplicaHash> ranks{{0, {6, 7}}, {0, {6, 7}}, {0, {6, 7}}, {3, {5, 7}}, {4, {5, 7}}};
  EXPECT_EQ(vote(ranks), (ReplicaVote{.differing = {0, 1, 2}}));
}

TEST(ReplicaVote, BothWordsOfAHashCount) {
  const std::vector<ReplicaHash> ranks{{0, {5, 7}}, {1, {5, 8}}, {2, {5, 7}}};
  EXPECT_EQ(vote(ranks), (ReplicaVote{.differing = {1}}));
}

TEST(ReplicaVote, MessageNamesRanksHostsAndRemedy) {
  const std::vector<std::string> hosts{"a", "a", "b"};
  const std::string one = message_of({.differing = {2}}, hosts, 500);
  test::expect_holds(
      one, "after step 500, the parameters of rank 2 (host b) differ from those of the other ranks");
  test::expect_holds(one, "--resume auto");
  const std::string all = message_of({.differing = {0, 1, 2}, .majority = false}, hosts, 500);
  test::expect_holds(all, "ranks 0 (host a), 1 (host a) and 2 (host b) differ from each other");
}

}  // namespace
}  // namespace lockstep
