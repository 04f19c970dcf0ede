#include "comm/communicator.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "comm/world/launch.h"
#include "comm/world/start_checks.h"
#include "support/temporary_folder.h"
#include "support/text.h"

namespace lockstep {
namespace {

TEST(EvenSlices, TileTheArenaAtMultiplesOfSixteen) {
  for (const std::size_t elements : {0u, 1u, 15u, 16u, 17u, 1000u, 100003u}) {
    for (int parts = 1; parts <= 9; ++parts) {
      const Slices slices = even_slices(elements, parts);
      ASSERT_EQ(slices.size(), static_cast<std::size_t>(parts) + 1);
      EXPECT_EQ(slices.front(), 0u);
      EXPECT_EQ(slices.back(), elements);
      for (std::size_t i = 1; i < slices.size(); ++i) {
        EXPECT_GE(slices[i], slices[i - 1]);
        EXPECT_LE(slices[i] - slices[i - 1], elements / static_cast<std::size_t>(parts) + 32);
        EXPECT_TRUE(i + 1 == slices.size() || slices[i] % 16 == 0);
      }
    }
  }
}

/// Members of Launch that are compared.
struct ExpectedLaunch {
  std::optional<int> processes = {}, rank = {}, local_rank = {};
  std::optional<bool> known = {}, managed = {}, one_host = {};
  std::optional<std::string> starter = {}, variable = {};
};

TEST(Launch, FollowsFromTheEnvironment) {
  const struct {
    const char* name;
    const char* environment;
    ExpectedLaunch expected;
  } cases[] = {
      {"without a launcher", "", {.processes = 1, .known = false, .starter = "", .variable = ""}},
      {"in a Slurm shell, without srun",
       "SLURM_JOB_ID=7 SLURM_NTASKS=2 SLURM_PROCID=0",
       {.processes = 1, .known = false}},
      {"by srun: the step's tasks",
       "SLURM_STEP_NUM_TASKS=4 SLURM_STEP_NUM_NODES=2 SLURM_PROCID=3 SLURM_LOCALID=1 PMIX_RANK=3",
       {.processes = 4,
        .rank = 3,
        .local_rank = 1,
        .managed = true,
        .one_host = false,
        .starter = "srun --mpi=pmix -n 4"}},
      {"by srun without PMIx",
       "SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1",
       {.processes = 2, .local_rank = -1, .managed = false}},
      {"by MPICH's mpiexec",
       "PMI_SIZE=2 PMI_RANK=1 MPI_LOCALRANKID=0",
       {.processes = 2, .rank = 1, .local_rank = 0, .starter = "mpiexec -n 2"}},
      {"one task, also the shell of salloc",
       "SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0",
       {.known = false, .managed = true}},
      {"by srun with PMI-2",
       "SLURM_STEP_NUM_TASKS=2 PMI_SIZE=2 PMI_RANK=1",
       {.processes = 2, .rank = 1, .managed = false, .variable = "PMI_SIZE"}},
      {"PMI-2, chosen in the settings of Open MPI",
       "SLURM_STEP_NUM_TASKS=2 PMI_SIZE=2 PMI_RANK=1 OMPI_MCA_pmix=s2",
       {.managed = true}},
      {"one process with PMI-2", "PMI_SIZE=1 PMI_RANK=0", {.known = false}},
      {"by mpirun in a Slurm step",
       "OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_LOCAL_SIZE=1 OMPI_COMM_WORLD_RANK=0 SLURM_STEP_NUM_TASKS=2 "
       "SLURM_PROCID=1",
       {.processes = 1, .known = true, .one_host = true, .starter = "mpirun -np 1"}},
      {"by mpirun, with what more ranks than cores need",
       "OMPI_COMM_WORLD_SIZE=4 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none",
       {.starter = "mpirun --oversubscribe --bind-to none -np 4"}},
      {"by an unknown PMIx launcher: perhaps several hosts", "PMIX_RANK=0", {.one_host = false}}};
  for (const auto& [name, environment, expected] : cases) {
    SCOPED_TRACE(name);
    std::map<std::string, std::string> values;
    for (const std::string& word : test::words(environment)) {
      values[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
    }
    const Launch launch = read_launch([&](const char* variable) {
      const auto found = values.find(variable);
      return found == values.end() ? nullptr : found->second.c_str();
    });
    EXPECT_EQ(launch.processes, expected.processes.value_or(launch.processes));
    EXPECT_EQ(launch.rank, expected.rank.value_or(launch.rank));
    EXPECT_EQ(launch.local_rank, expected.local_rank.value_or(launch.local_rank));
    EXPECT_EQ(launch.known, expected.known.value_or(launch.known));
    EXPECT_EQ(launch.managed, expected.managed.value_or(launch.managed));
    EXPECT_EQ(launch.one_host, expected.one_host.value_or(launch.one_host));
    EXPECT_EQ(launch.starter, expected.starter.value_or(launch.starter));
    EXPECT_EQ(launch.variable, expected.variable.value_or(launch.variable));
  }
}

TEST(StartChecks, SegmentsOfAllRanksMustFitIntoSharedMemory) {
  unsetenv("OMPI_MCA_btl");
  constexpr std::uint64_t megabyte = 1 << 20;
  const Launch launch = {.processes = 8, .local_count = 4, .known = true, .one_host = false};
  EXPECT_EQ(avoid_shared_memory(launch, std::nullopt, 7), "");
  EXPECT_EQ(avoid_shared_memory(launch, 16 * megabyte, 7), "");
  EXPECT_EQ(avoid_shared_memory({.processes = 2, .local_count = 1, .one_host = false}, 0, 7), "");
  EXPECT_EQ(avoid_shared_memory({.processes = 2, .one_host = false}, 0, 7), "");  // srun: maybe one per host
  EXPECT_EQ(std::getenv("OMPI_MCA_btl"), nullptr);
  test::expect_holds(avoid_shared_memory(launch, 15 * megabyte, 7), "has 15 MiB free, but MPI needs 16 MiB");
  EXPECT_STREQ(std::getenv("OMPI_MCA_btl"), "^vader,sm");
  EXPECT_EQ(avoid_shared_memory(launch, 15 * megabyte, 7), "");  // as after a user's choice
  unsetenv("OMPI_MCA_btl");
  test::expect_holds(avoid_shared_memory({.processes = 2}, 0, 7), "for 2 ranks");
  unsetenv("OMPI_MCA_btl");
}

TEST(StartChecks, RanksInContainersOfTheirOwnHaveTheSameNumber) {
  const Launch launch = {.processes = 2, .local_rank = 1, .local_count = 2, .known = true};
  unsetenv("OMPI_MCA_btl");
  EXPECT_EQ(avoid_shared_memory({}, std::nullopt, 1), "");
  EXPECT_EQ(avoid_shared_memory(launch, std::nullopt, 2), "");
  EXPECT_EQ(std::getenv("OMPI_MCA_btl"), nullptr);
  EXPECT_EQ(avoid_shared_memory(launch, std::nullopt, 1), "");
  EXPECT_STREQ(std::getenv("OMPI_MCA_btl"), "^vader,sm");
  unsetenv("OMPI_MCA_btl");
}

TEST(StartChecks, TheServerOfPmixMustListenInThisNetwork) {
  const TemporaryFolder root;
  root.write("proc/net/tcp", "heading\n 0: 0100007F:9587 00000000:0000 0A 00000000:00000000\n");
  const auto why = [&](const std::string& address) {
    return why_unreachable(
        [&](const char* name) { return std::string(name) == "PMIX_SERVER_URI4" ? address.c_str() : nullptr; },
        root.path());
  };
  EXPECT_EQ(why_unreachable([](const char*) { return nullptr; }, root.path()), "");
  EXPECT_EQ(why("1.0;tcp4://127.0.0.1:38279"), "");  // 0x9587
  test::expect_holds(why("1.0;tcp4://127.0.0.1:38280"), "127.0.0.1:38280");
  EXPECT_EQ(why("1.0;tcp4://192.0.2.2:38280"), "");  // not known
}

}  // namespace
}  // namespace lockstep
