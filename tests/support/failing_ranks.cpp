// Tests of RanksTest itself that fail on one rank only: CTest expects each of them to fail.
#include <chrono>
#include <filesystem>
#include <thread>

#include "comm/world/watch_of.h"
#include "lockstep/error.h"
#include "support/ranks_test.h"
#include "watch/watch.h"

namespace lockstep::test {
namespace {

TEST_F(RanksTest, DISABLED_FailsOnOneRank) { EXPECT_NE(world().rank(), 1) << "only here"; }

TEST_F(RanksTest, DISABLED_LeavesByAssertion) {
  ASSERT_NE(world().rank(), 1) << "only here";
  world().barrier();
}

TEST_F(RanksTest, DISABLED_LeavesByException) {
  if (world().rank() == 1) throw Error(Category::data, "only here");
  world().barrier();
}

TEST_F(RanksTest, DISABLED_Hangs) {
  watch_of(world()).set_limits(hang_limits(0.1));
  watch_of(world()).set_report_folder(std::filesystem::temp_directory_path());
  if (world().rank() == 1) std::this_thread::sleep_for(std::chrono::hours(1));
  world().barrier();
}

}  // namespace
}  // namespace lockstep::test
