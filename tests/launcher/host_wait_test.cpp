#include "hosts/host_wait.h"

#include <gtest/gtest.h>

namespace lockstep::launcher {
namespace {

using namespace std::chrono_literals;

TEST(HostWait, WarnsOnceAndThenEnds) {
  const HostWait::Time began = {};
  HostWait wait({"b", "c"}, began);
  using Due = HostWait::Due;
  struct Row {
    std::chrono::seconds after;
    Due due;
  };
  for (const Row& row : {Row{0s, Due::nothing}, Row{9s, Due::nothing}, Row{10s, Due::warning},
                         Row{11s, Due::nothing}, Row{299s, Due::nothing}}) {
    EXPECT_EQ(wait.look(began + row.after), row.due) << row.after.count();
    EXPECT_FALSE(wait.is_over());
  }
  EXPECT_EQ(wait.look(began + 300s), Due::end);
  EXPECT_TRUE(wait.is_over());
  EXPECT_EQ(wait.look(began + 301s), Due::nothing);
  EXPECT_EQ(wait.failure(), "mpirun could not start ranks on other hosts (b, c) within 300 s");
}

TEST(HostWait, ThereIsNoneWithoutOtherHosts) {
  HostWait wait({}, {});
  EXPECT_EQ(wait.look(HostWait::Time{} + 1h), HostWait::Due::nothing);
  EXPECT_FALSE(wait.is_over());
}

}  // namespace
}  // namespace lockstep::launcher
