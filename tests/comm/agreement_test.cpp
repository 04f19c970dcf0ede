#include "comm/world/agreement.h"

#include <gtest/gtest.h>

#include "gradient/thread_ranks.h"

namespace lockstep {
namespace {

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
