#include "core/process/processors.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <string>
#include <vector>

#include "support/temporary_folder.h"

namespace lockstep::test {
namespace {

/// Processors that this process may use, and one that it may not use.
struct Processors {
  std::vector<int> usable;
  int other = -1;
};

Processors processors_of_this_process() {
  cpu_set_t set;
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  Processors result;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(static_cast<std::size_t>(processor), &set)) {
      result.usable.push_back(processor);
    } else {
      result.other = processor;
    }
  }
  return result;
}

/// A container may be allowed two hardware threads of one core of a large machine.
TEST(Processors, CoresThatThisProcessMayNotUseDoNotCount) {
  const TemporaryFolder folder;
  const auto add = [&](int processor, int core) {
    const std::string topology = "cpu" + std::to_string(processor) + "/topology/";
    folder.write(topology + "core_id", std::to_string(core) + "\n");
    folder.write(topology + "physical_package_id", "0\n");
  };
  const Processors processors = processors_of_this_process();
  EXPECT_EQ(usable_cores(folder.string()), 0) << "the system does not describe them";
  folder.write("cpufreq/boost", "1\n");
  for (const int processor : processors.usable) add(processor, 5);
  EXPECT_EQ(usable_cores(folder.string()), 1);
  ASSERT_GE(processors.other, 0);
  add(processors.other, 6);
  EXPECT_EQ(usable_cores(folder.string()), 1);
  add(processors.usable.back(), 7);
  EXPECT_EQ(usable_cores(folder.string()), processors.usable.size() > 1 ? 2 : 1);
}

}  // namespace
}  // namespace lockstep::test
