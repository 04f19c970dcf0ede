#include "comm/communicator.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "comm/world/launch.h"

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

TEST(Launch, ByAnUnknownPmixLauncherAssumesSeveralHosts) {
  EXPECT_FALSE(launch_in({{"PMIX_RANK", "0"}}).one_host);
}

}  // namespace
}  // namespace lockstep
