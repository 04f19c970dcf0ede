#include "supervisor/mpirun_command.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace lockstep::launcher {
namespace {

using Words = std::vector<std::string>;

const Machine laptop{.cores = 4, .processors = 8};

Start start(const Words& options) {
  return {.mpirun = "/bin/mpirun",
          .program = "/bin/lockstep",
          .variables = {"LOCKSTEP_JOB"},
          .options = MpirunOptions(options),
          .command = {"train", "--lr", "0.2"}};
}

TEST(MpirunCommand, OptionsOfTheUserComeAfterThoseOfLockstep) {
  EXPECT_EQ(mpirun_command(start({"-np", "2", "-x", "LOCKSTEP_JOB=1"}), laptop),
            (Words{"/bin/mpirun", "--bind-to", "none", "-x", "LOCKSTEP_JOB", "-np", "2", "-x",
                   "LOCKSTEP_JOB=1", "/bin/lockstep", "train", "--lr", "0.2"}));
  EXPECT_EQ(mpirun_command(start({"--bind-to", "core"}), laptop),
            (Words{"/bin/mpirun", "-x", "LOCKSTEP_JOB", "--bind-to", "core", "/bin/lockstep", "train", "--lr",
                   "0.2"}));
}

TEST(MpirunCommand, MoreRanksThanCoresNeedOversubscribe) {
  struct Row {
    Words options;
    Machine machine;
    bool needs;
  };
  for (const Row& row : std::vector<Row>{
           {{"-np", "4"}, laptop, false},
           {{"-np", "5"}, laptop, true},
           {{"-np", "2"}, {.cores = 4, .processors = 1}, true},   // a container with one processor
           {{"-np", "2"}, {.cores = 0, .processors = 8}, true},   // the system does not report its cores
           {{}, laptop, false},                                   // mpirun chooses the number of ranks
           {{"-np", "5", "-H", "a:5"}, laptop, false},            // the user sets the slots
           {{"-np", "5", "--hostfile", "hosts"}, laptop, false},  //
           {{"-np", "5", "--map-by", "node"}, laptop, false},     //
           {{"-np", "5", "--oversubscribe"}, laptop, false},      // already given
           {{"-np", "5"}, {.cores = 4, .processors = 8, .scheduled = true}, false}}) {
    EXPECT_EQ(needs_oversubscribe(MpirunOptions(row.options), row.machine), row.needs)
        << testing::PrintToString(row.options);
  }
}

TEST(MpirunCommand, MoreThanEightRanksForEachCoreNeedOversubscribeByTheUser) {
  struct Row {
    Words options;
    Machine machine;
    bool refused;
  };
  constexpr int most = 8 * 2;
  const Machine two{.cores = 1, .processors = 2, .host = "a.cluster"};
  const std::string at_most = std::to_string(most), more = std::to_string(most + 1);
  for (const Row& row :
       std::vector<Row>{{{"-np", at_most}, two, false},
                        {{"-np", more}, two, true},
                        {{"-np", more, "--oversubscribe"}, two, false},
                        {{"-np", more, "--map-by", "node"}, two, false},
                        {{"-np", more, "-H", "a:" + more}, two, true},
                        {{"-np", more, "-H", "localhost:" + more}, two, true},
                        {{"-np", more, "-H", "a:9,b:8"}, two, false},  // the number of cores of b is unknown
                        {{}, two, false},
                        {{"-np", more}, {.processors = 2, .scheduled = true}, false}}) {
    const MpirunOptions options(row.options);
    if (row.refused) {
      expect_error(Category::usage, {more + " ranks on 2 cores", "--oversubscribe"},
                   [&] { check_number_of_ranks(options, row.machine); });
    } else {
      EXPECT_NO_THROW(check_number_of_ranks(options, row.machine)) << testing::PrintToString(row.options);
    }
  }
}

TEST(MpirunCommand, RanksAreLeftOpenWhereNobodyNamesTheirNumberOrPlaces) {
  EXPECT_TRUE(leaves_ranks_open(MpirunOptions(), laptop));
  EXPECT_TRUE(leaves_ranks_open(MpirunOptions({"--tag-output", "-x", "A"}), laptop));
  EXPECT_FALSE(leaves_ranks_open(MpirunOptions(), {.scheduled = true}));
  for (const Words& options : std::vector<Words>{{"-np", "2"},
                                                 {"-n", "2"},
                                                 {"-N", "2"},
                                                 {"--host", "a,b"},
                                                 {"--hostfile", "hosts"},
                                                 {"--map-by", "ppr:1:node"}}) {
    EXPECT_FALSE(leaves_ranks_open(MpirunOptions(options), laptop)) << testing::PrintToString(options);
  }
}

TEST(MpirunCommand, ThereIsARankForEachGpuOrElseForEachNode) {
  const Machine server{.cores = 64, .processors = 128, .nodes = 4};
  const auto ranks = [&](const Words& command, int gpus) {
    return default_ranks(command, server.nodes, [gpus] { return gpus; });
  };
  EXPECT_EQ(ranks({"train"}, 8), 8);
  EXPECT_EQ(ranks({"train", "--device", "cuda"}, 8), 8);
  EXPECT_EQ(ranks({"train"}, 0), 4);
  EXPECT_EQ(ranks({"train", "--device", "cpu"}, 8), 4);
  EXPECT_EQ(ranks({"train", "--device=cpu"}, 8), 4);
  EXPECT_EQ(ranks({"train", "--device=cpu", "--device", "cuda"}, 8), 8);
  EXPECT_EQ(default_ranks({"train"}, laptop.nodes, [] { return 0; }), 1);
}

TEST(MpirunCommand, ProgramsAreSearchedInFoldersFirst) {
  EXPECT_EQ(find_program("sh", {"/nowhere", "/bin"}), "/bin/sh");
  EXPECT_TRUE(find_program("sh", {}).ends_with("/sh"));
  EXPECT_EQ(find_program("no-such-program", {"/bin"}), "");
  EXPECT_EQ(find_program("passwd", {"/etc"}).find("/etc/"), std::string::npos);  // not executable
}

}  // namespace
}  // namespace lockstep::launcher
