#include "processes/leftovers.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "support/temporary_folder.h"

namespace lockstep::launcher {
namespace {

TEST(Leftovers, SegmentsBelongToAFamilyOfJobs) {
  EXPECT_TRUE(is_segment_of("vader_segment.node-1.cluster.1000.f2a0001.3", 0x0f2a));
  EXPECT_TRUE(is_segment_of("vader_segment.vm.0.53060001.0", 0x5306));
  EXPECT_TRUE(is_segment_of("osc_sm.vm.53060001.2.0", 0x5306));
  EXPECT_TRUE(is_segment_of("osc_rdma.vm.53060001.2", 0x5306));
  EXPECT_FALSE(is_segment_of("vader_segment.vm.0.53070001.0", 0x5306));
  EXPECT_FALSE(is_segment_of("other_segment.vm.0.53060001.0", 0x5306));
  EXPECT_FALSE(is_segment_of("vader_segment", 0));
  EXPECT_FALSE(is_segment_of("vader_segment.x.y.z.0", 0));
}

TEST(Leftovers, OfOneJobAreRemovedAndNoOthers) {
  const TemporaryFolder temporary, memory;
  const std::string user = "." + std::to_string(geteuid());
  const std::filesystem::path sessions = temporary / ("ompi.vm" + user);
  const auto session = [&](const char* name, unsigned family) {
    std::filesystem::create_directories(sessions / name / "1/0");
    std::ofstream(sessions / name / "contact.txt") << (family << 16U) << ".0;tcp://127.0.0.1:1\n"
                                                   << 4711 << "\n";
  };
  session("pid.100", 0x5306);
  session("pid.101", 0x5307);
  const Places places{.temporary = temporary.path(), .shared_memory = memory.path()};
  temporary.write("lockstep-1a2b-vm", "x");  // where there is no shared memory
  temporary.write("lockstep-3c4d-vm", "x");
  for (const char* name : {"prterun.vm.100", "prterun.vm.1100"}) {  // of Open MPI 5
    std::filesystem::create_directories(temporary / (name + user) / "0");
  }
  temporary.write("pmix-gds-shmem.vm-2163736577.jobdata.100", "x");
  for (const char* name : {"lockstep-1a2b-0", "lockstep-watch.1a2b.3", "lockstep-3c4d-0", "other-1a2b",
                           "vader_segment.vm.0.53060001.0", "vader_segment.vm.0.53070001.0"}) {
    memory.write(name, "x");
  }
  using Names = std::vector<std::string>;
  remove_leftovers("1a2b", 100, places);
  EXPECT_EQ(memory.names(), (Names{"lockstep-3c4d-0", "other-1a2b", "vader_segment.vm.0.53070001.0"}));
  EXPECT_EQ(temporary.names(), (Names{"lockstep-3c4d-vm", "ompi.vm" + user, "prterun.vm.1100" + user}));
  EXPECT_FALSE(std::filesystem::exists(sessions / "pid.100"));
  EXPECT_TRUE(std::filesystem::exists(sessions / "pid.101/contact.txt"));

  remove_leftovers("3c4d", 101, places);
  EXPECT_EQ(memory.names(), (Names{"other-1a2b"}));
  EXPECT_FALSE(std::filesystem::exists(sessions));
}

/// mpirun makes the folder of the host and the user first, and its own in it.
TEST(Leftovers, OfAnMpirunThatWasKilledBeforeItHadASession) {
  const TemporaryFolder temporary, memory;
  const std::string user = "." + std::to_string(geteuid());
  std::filesystem::create_directory(temporary / ("ompi.vm" + user));
  std::filesystem::create_directory(temporary / ("ompi.vm" + user + "0"));  // another user's
  std::filesystem::create_directory(temporary / ("other.vm" + user));
  std::filesystem::create_directories(temporary / ("ompi.busy" + user) / "pid.101");
  const Places places{.temporary = temporary.path(), .shared_memory = memory.path()};
  remove_leftovers("1a2b", 100, places);
  EXPECT_EQ(temporary.names(),
            (std::vector<std::string>{"ompi.busy" + user, "ompi.vm" + user + "0", "other.vm" + user}));
}

}  // namespace
}  // namespace lockstep::launcher
