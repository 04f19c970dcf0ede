#include "processes/leftovers.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "support/temporary_folder.h"

namespace lockstep::launcher {
namespace {

TEST(Leftovers, OfOneJobAreRemovedAndNoOthers) {
  const TemporaryFolder temporary, memory;
  const std::string user = "." + std::to_string(geteuid());
  const Places places{.temporary = temporary.path(), .shared_memory = memory.path()};
  for (const char* job : {"1a2b", "3c4d"}) {
    std::filesystem::create_directories(session_folder(job, places) / ("ompi.vm" + user) / "pid.100/1/0");
  }
  std::filesystem::create_directories(temporary / ("ompi.vm" + user) / "pid.100");  // left by bare mpirun
  temporary.write("lockstep-1a2b-vm", "x");  // used without shared memory
  temporary.write("lockstep-3c4d-vm", "x");
  for (const char* name : {"prterun.vm.100", "prterun.vm.1100"}) {  // left by Open MPI 5
    std::filesystem::create_directories(temporary / (name + user) / "0");
  }
  temporary.write("pmix-gds-shmem.vm-2163736577.jobdata.100", "x");
  for (const char* name : {"lockstep-1a2b-0", "lockstep-watch.1a2b.3", "lockstep-3c4d-0", "other-1a2b",
                           "lockstep-1a2b-mpi-segments", "vader_segment.vm.0.53060001.0"}) {
    memory.write(name, "x");
  }
  using Names = std::vector<std::string>;
  remove_leftovers("1a2b", 100, places);
  EXPECT_EQ(memory.names(), (Names{"lockstep-3c4d-0", "other-1a2b", "vader_segment.vm.0.53060001.0"}));
  EXPECT_EQ(temporary.names(),
            (Names{"lockstep-3c4d-mpirun", "lockstep-3c4d-vm", "ompi.vm" + user, "prterun.vm.1100" + user}));
}

}  // namespace
}  // namespace lockstep::launcher
