#include "comm/communicator.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "comm/world/launch.h"
#include "comm/world/start_checks.h"
#include "support/temporary_folder.h"

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

using Environment = std::map<std::string, std::string>;

Launch launch_in(const Environment& environment) {
  return read_launch([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(Launch, WithoutALauncherIsOneProcess) {
  EXPECT_EQ(launch_in({}).processes, 1);
  EXPECT_FALSE(launch_in({}).known);
  EXPECT_EQ(launch_in({}).starter, "");
}

TEST(Launch, InASlurmShellWithoutSrunIsOneProcess) {
  const Launch launch = launch_in({{"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "2"}, {"SLURM_PROCID", "0"}});
  EXPECT_EQ(launch.processes, 1);
  EXPECT_FALSE(launch.known);
}

TEST(Launch, BySrunIsTheStepsTasks) {
  const Launch launch = launch_in({{"SLURM_STEP_NUM_TASKS", "4"},
                                   {"SLURM_STEP_NUM_NODES", "2"},
                                   {"SLURM_PROCID", "3"},
                                   {"PMIX_RANK", "3"}});
  EXPECT_EQ(launch.processes, 4);
  EXPECT_EQ(launch.rank, 3);
  EXPECT_FALSE(launch.one_host);
  EXPECT_TRUE(launch.managed);
  EXPECT_EQ(launch.starter, "srun --mpi=pmix -n 4");
}

TEST(Launch, BySrunWithoutPmixIsNotManaged) {
  Environment step = {{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "1"}};
  EXPECT_EQ(launch_in(step).processes, 2);
  EXPECT_FALSE(launch_in(step).managed);
  step = {{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}};  // also the shell of salloc
  EXPECT_TRUE(launch_in(step).managed);
  EXPECT_FALSE(launch_in(step).known);
}

TEST(Launch, BySrunWithPmi2IsNotManagedUnlessOpenMpiWasToldToUseIt) {
  Environment step = {{"SLURM_STEP_NUM_TASKS", "2"}, {"PMI_SIZE", "2"}, {"PMI_RANK", "1"}};
  EXPECT_EQ(launch_in(step).processes, 2);
  EXPECT_EQ(launch_in(step).rank, 1);
  EXPECT_FALSE(launch_in(step).managed);
  step["OMPI_MCA_pmix"] = "s2";
  EXPECT_TRUE(launch_in(step).managed);
  EXPECT_FALSE(launch_in({{"PMI_SIZE", "1"}, {"PMI_RANK", "0"}}).known);
}

TEST(Launch, ByMpirunHidesTheSlurmStepAroundIt) {
  const Launch launch = launch_in({{"OMPI_COMM_WORLD_SIZE", "1"},
                                   {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"},
                                   {"OMPI_COMM_WORLD_RANK", "0"},
                                   {"SLURM_STEP_NUM_TASKS", "2"},
                                   {"SLURM_PROCID", "1"}});
  EXPECT_EQ(launch.processes, 1);
  EXPECT_TRUE(launch.known);
  EXPECT_TRUE(launch.one_host);
  EXPECT_EQ(launch.starter, "mpirun -np 1");
}

TEST(Launch, ByMpirunIsRepeatedWithWhatMoreRanksThanCoresNeed) {
  const Launch launch = launch_in({{"OMPI_COMM_WORLD_SIZE", "4"},
                                   {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                                   {"OMPI_MCA_hwloc_base_binding_policy", "none"}});
  EXPECT_EQ(launch.starter, "mpirun --oversubscribe --bind-to none -np 4");
}

TEST(Launch, ByAnUnknownPmixLauncherAssumesSeveralHosts) {
  EXPECT_FALSE(launch_in({{"PMIX_RANK", "0"}}).one_host);
}

TEST(StartChecks, SegmentsOfAllRanksMustFitIntoSharedMemory) {
  unsetenv("OMPI_MCA_btl");
  constexpr std::uint64_t megabyte = 1 << 20;
  const Launch launch = {.processes = 8, .local_count = 4, .known = true, .one_host = false};
  EXPECT_EQ(avoid_shared_memory(launch, std::nullopt, 7), "");
  EXPECT_EQ(avoid_shared_memory(launch, 16 * megabyte, 7), "");
  EXPECT_EQ(avoid_shared_memory({.processes = 2, .local_count = 1, .one_host = false}, 0, 7), "");
  EXPECT_EQ(avoid_shared_memory({.processes = 2, .one_host = false}, 0, 7), "");  // srun: none may be here
  EXPECT_EQ(std::getenv("OMPI_MCA_btl"), nullptr);
  EXPECT_NE(avoid_shared_memory(launch, 15 * megabyte, 7).find("has 15 MiB free, but MPI needs 16 MiB"),
            std::string::npos);
  EXPECT_STREQ(std::getenv("OMPI_MCA_btl"), "^vader,sm");
  EXPECT_EQ(avoid_shared_memory(launch, 15 * megabyte, 7), "");  // as for a user's choice
  unsetenv("OMPI_MCA_btl");
  EXPECT_NE(avoid_shared_memory({.processes = 2}, 0, 7).find("for 2 ranks"), std::string::npos);
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
  std::filesystem::create_directories(root / "proc/net");
  root.write("proc/net/tcp", "heading\n 0: 0100007F:9587 00000000:0000 0A 00000000:00000000\n");
  const auto why = [&](const std::string& address) {
    return why_unreachable(
        [&](const char* name) { return std::string(name) == "PMIX_SERVER_URI4" ? address.c_str() : nullptr; },
        root.path());
  };
  EXPECT_EQ(why_unreachable([](const char*) { return nullptr; }, root.path()), "");
  EXPECT_EQ(why("1.0;tcp4://127.0.0.1:38279"), "");  // 0x9587
  EXPECT_NE(why("1.0;tcp4://127.0.0.1:38280").find("127.0.0.1:38280"), std::string::npos);
  EXPECT_EQ(why("1.0;tcp4://192.0.2.2:38280"), "");  // not known
}

}  // namespace
}  // namespace lockstep
