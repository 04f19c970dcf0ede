#include "device/host_probe.h"

#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace lockstep {
namespace {

constexpr std::uint64_t kilobyte = 1024;

/// Files of a machine with 1,000 kB of memory, 800 kB of it available.
struct Machine : TemporaryFolder {
  Machine() {
    write("proc/meminfo", "MemTotal:  1000 kB\nMemFree: 100 kB\nMemAvailable:  800 kB\nBuffers: 1 kB\n");
  }
  std::uint64_t available() const { return available_memory(path()).value(); }
  std::uint64_t total() const { return total_memory(path()).value(); }
};

TEST(AvailableMemory, IsTheMachinesWithoutControlGroups) {
  const Machine machine;
  EXPECT_EQ(machine.available(), 800 * kilobyte);
  EXPECT_EQ(machine.total(), 1000 * kilobyte);
  machine.write("proc/self/cgroup", "0::/user.slice\n");
  machine.write("sys/fs/cgroup/user.slice/memory.max", "max\n");
  machine.write("sys/fs/cgroup/user.slice/memory.current", "5000\n");
  EXPECT_EQ(machine.available(), 800 * kilobyte);
  const TemporaryFolder nothing;
  EXPECT_FALSE(available_memory(nothing.path()).has_value());
}

TEST(AvailableMemory, StaysBelowTheLimitsOfVersion2) {
  const Machine machine;
  machine.write("proc/self/cgroup", "0::/job/step\n");
  machine.write("sys/fs/cgroup/job/memory.max", "500000\n");
  machine.write("sys/fs/cgroup/job/memory.current", "300000\n");
  machine.write("sys/fs/cgroup/job/memory.stat", "anon 200000\nfile 100000\ninactive_file 90000\n");
  machine.write("sys/fs/cgroup/job/step/memory.max", "max\n");
  EXPECT_EQ(machine.available(), 500000U - (300000U - 90000U));
  EXPECT_EQ(machine.total(), 500000U);
  machine.write("sys/fs/cgroup/job/memory.current", "700000\n");  // temporarily over the limit
  EXPECT_EQ(machine.available(), 0U);
}

TEST(AvailableMemory, StaysBelowTheLimitsOfVersion1) {
  const Machine machine;
  machine.write("proc/self/cgroup", "9:cpu,cpuacct:/docker/1\n7:memory:/docker/1\n0::/docker/1\n");
  machine.write("sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "600000\n");
  machine.write("sys/fs/cgroup/memory/docker/1/memory.usage_in_bytes", "100000\n");
  machine.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  machine.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "200000\n");
  EXPECT_EQ(machine.available(), 500000U);
}

/// /proc gives the cgroup's path on the host, but the mounted tree begins at the container's cgroup.
TEST(AvailableMemory, FindsTheLimitOfAContainerWithThePathOfItsHost) {
  const Machine machine;
  machine.write("proc/self/cgroup", "7:memory:/docker/1\n");
  machine.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "400000\n");
  machine.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "100000\n");
  EXPECT_EQ(machine.available(), 300000U);
}

TEST(CpuLimit, IsTheLeastQuotaRoundedUp) {
  const Machine machine;
  EXPECT_FALSE(cpu_limit(machine.path()).has_value());
  machine.write("proc/self/cgroup", "0::/job/step\n");
  machine.write("sys/fs/cgroup/job/cpu.max", "max 100000\n");
  EXPECT_FALSE(cpu_limit(machine.path()).has_value());
  machine.write("sys/fs/cgroup/job/cpu.max", "350000 100000\n");
  machine.write("sys/fs/cgroup/job/step/cpu.max", "800000 100000\n");
  EXPECT_EQ(cpu_limit(machine.path()), 4);
  machine.write("sys/fs/cgroup/job/step/cpu.max", "10000 50000\n");
  EXPECT_EQ(cpu_limit(machine.path()), 1);
}

TEST(CpuLimit, IsReadInVersion1) {
  const Machine machine;
  machine.write("proc/self/cgroup", "9:cpu,cpuacct:/docker/1\n7:memory:/docker/1\n0::/docker/1\n");
  machine.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  machine.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_FALSE(cpu_limit(machine.path()).has_value());
  machine.write("sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us", "400000\n");
  machine.write("sys/fs/cgroup/cpu/docker/1/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cpu_limit(machine.path()), 4);
}

TEST(LoopbackPort, IsSearchedAmongTheListenersOfThisNetwork) {
  const Machine machine;
  EXPECT_FALSE(listens_on_loopback(1, machine.path()).has_value());
  machine.write("proc/net/tcp",
                "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when\n"
                "   0: 0100007F:9587 00000000:0000 0A 00000000:00000000 00:00000000 00000000\n"
                "   1: 00000000:07E8 00000000:0000 0A 00000000:00000000 00:00000000 00000000\n"
                "   2: 0100007F:0050 0100007F:9587 01 00000000:00000000 00:00000000 00000000\n"
                "   3: 020200C0:0051 00000000:0000 0A 00000000:00000000 00:00000000 00000000\n");
  EXPECT_EQ(listens_on_loopback(0x9587, machine.path()), true);
  EXPECT_EQ(listens_on_loopback(0x07e8, machine.path()), true);   // listens on all interfaces
  EXPECT_EQ(listens_on_loopback(0x0050, machine.path()), false);  // connected
  EXPECT_EQ(listens_on_loopback(0x0051, machine.path()), false);  // listens on another interface
  machine.write("proc/net/tcp", "  sl  local_address\n");         // a separate network namespace
  EXPECT_EQ(listens_on_loopback(0x9587, machine.path()), false);
}

}  // namespace
}  // namespace lockstep
