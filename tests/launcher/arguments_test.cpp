#include "supervisor/arguments.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace lockstep::launcher {
namespace {

using Words = std::vector<std::string>;

Arguments parse(const std::vector<const char*>& words) { return parse_arguments(words); }

TEST(Arguments, OptionsOfLockstepRunMpirunAndLockstepAreDistinguished) {
  const Arguments found = parse({"-np", "4", "--max-restarts", "10", "--tag-output", "--min-ranks=2",
                                 "--grace", "60", "train", "--max-steps", "3"});
  EXPECT_EQ(found.restarts.maximum, 10);
  EXPECT_EQ(found.restarts.min_ranks, 2);
  EXPECT_EQ(found.grace, std::chrono::seconds(60));
  EXPECT_EQ(found.mpirun.words(), (Words{"-np", "4", "--tag-output"}));
  EXPECT_EQ(found.command, (Words{"train", "--max-steps", "3"}));
  EXPECT_EQ(found.before_command,
            (Words{"-np", "4", "--max-restarts", "10", "--tag-output", "--min-ranks=2", "--grace", "60"}));
}

TEST(Arguments, HostsMayStandForANumberOfRanks) {
  const Arguments found = parse({"--hosts", "a:2,b:2", "--max-restarts", "2", "--min-ranks", "1", "train"});
  EXPECT_EQ(found.restarts.min_ranks, 1);
  expect_error(Category::usage, {"--min-ranks has no effect without -np"}, [&] { check_min_ranks(found); });
  Arguments counted = parse({"--hosts", "a:2,b:2", "--max-restarts", "2", "--min-ranks", "8", "train"});
  counted.mpirun.set_ranks(4);
  expect_error(Category::usage, {"--min-ranks: '8' is more than the number of ranks, -np 4"},
               [&] { check_min_ranks(counted); });
}

TEST(Arguments, WithoutOptionsAFailureIsFinal) {
  const Arguments found = parse({"-np", "2", "train"});
  EXPECT_EQ(found.restarts.maximum, 0);
  EXPECT_EQ(found.restarts.min_ranks, std::nullopt);
  EXPECT_EQ(found.grace, std::chrono::seconds(30));
}

TEST(Arguments, AHostMayHaveTheNameOfASubcommand) {
  for (const char* host : {"data", "train", "eval"}) {
    for (const char* option : {"-H", "--host", "--hostfile", "-x", "--wdir"}) {
      const Arguments found = parse({option, host, "-np", "2", "train", "--epochs", "1"});
      EXPECT_EQ(found.mpirun.words(), (Words{option, host, "-np", "2"}));
      EXPECT_EQ(found.command, (Words{"train", "--epochs", "1"}));
    }
  }
  EXPECT_EQ(parse({"--mca", "btl", "data", "eval", "m"}).mpirun.words(), (Words{"--mca", "btl", "data"}));
  EXPECT_EQ(parse({"--not-known-here", "value", "train"}).command, (Words{"train"}));
  EXPECT_EQ(parse({"-np", "2", "--", "other"}).command, (Words{"other"}));
}

TEST(Arguments, HelpNeedsOneRank) {
  EXPECT_TRUE(needs_one_rank({"train", "--lr", "1", "--help"}));
  EXPECT_TRUE(needs_one_rank({"diff", "a", "b"}));
  EXPECT_FALSE(needs_one_rank({"train", "--lr", "1"}));
  EXPECT_FALSE(needs_one_rank({"predict", "run", "--", "-h"}));
  EXPECT_FALSE(needs_one_rank({}));
}

TEST(Arguments, NeedACommandOrHelp) {
  EXPECT_TRUE(parse({}).command.empty());
  EXPECT_TRUE(parse({"-np", "2", "--help"}).help);
  EXPECT_TRUE(parse({"-h"}).help);
  EXPECT_FALSE(parse({"train", "--help"}).help);
  EXPECT_TRUE(parse({"--version"}).version);
}

/// The program test Messages.OptionsOfLockstepRun has more cases.
TEST(Arguments, WrongValuesAndOptionsWithoutEffectAreRefused) {
  struct Row {
    std::vector<const char*> words;
    std::vector<std::string> message;
  };
  for (const Row& row : std::vector<Row>{
           {{"--max-restarts", "many", "train"}, {"--max-restarts", "'many'", "whole number from 0 on"}},
           {{"--max-restarts", "-1", "train"}, {"--max-restarts", "'-1'"}},
           {{"--max-restarts"}, {"--max-restarts needs a value"}},
           {{"-np", "0", "train"}, {"-np: '0'", "whole number from 1 on"}},
           {{"--n", "two", "train"}, {"--n: 'two'"}},
           {{"-np", "train"}, {"-np: 'train'"}},
           {{"-np", "2"}, {"no command; known: train, eval, "}},
           {{"-np"}, {"no command"}},
           {{"-np", "2", "trian", "--lr", "1"}, {"unknown command 'trian'; known: train, "}},
           {{"lockstep", "train"}, {"unknown command 'lockstep'; known: train, "}},
           {{"-np", "2", "foo", "train"}, {"unknown command 'foo'"}},
           {{"--grace", "5", "foo", "train"}, {"unknown command 'foo'"}},
           {{"--tag-output", "trian", "--lr", "1"}, {"unknown command 'trian'"}},
           {{"--nnodes", "2", "train"}, {"did you mean --hosts A,B or --hostfile FILE?"}},
           {{"--time=5", "train"}, {"unknown option '--time'; did you mean train --max-time 5m?"}},
           {{"-p", "gpu", "train"}, {"unknown option '-p'; it is one of Slurm: give it to sbatch, salloc"}},
           {{"--host=a", "--interfce=eth0", "train"}, {"'--interfce'; did you mean --interface?"}},
           {{"eval", "m", "--grace=3"}, {"--grace is an option of lockstep-run: write it before eval"}},
           {{"--min-ranks", "0", "train"}, {"--min-ranks", "'0'", "from 1 on"}},
           {{"--grace=30s", "train"}, {"--grace", "'30s'"}},
           {{"--check=no", "train"}, {"--check takes no value"}},
           {{"--max-restarts", "3", "eval"}, {"--max-restarts has no effect with eval"}},
           {{"-np", "4", "--min-ranks", "2", "train"}, {"--min-ranks has no effect without --max-restarts"}},
           {{"--max-restarts", "3", "--min-ranks", "2", "train"}, {"--min-ranks has no effect without -np"}},
           {{"-np", "2", "--max-restarts", "3", "--min-ranks", "4", "train"},
            {"'4' is more than", "-np 2"}}}) {
    expect_error(Category::usage, row.message, [&] { parse(row.words); });
  }
}

TEST(Arguments, HelpDescribesEachOwnOption) {
  for (const std::string& name : own_options()) {
    EXPECT_NE(help().find("\n  --" + name + " "), std::string::npos) << name;
  }
}

TEST(Arguments, HelpFitsATerminal) {
  for (const std::string& line : test::lines_of(help())) EXPECT_LE(line.size(), 100U) << line;
}

}  // namespace
}  // namespace lockstep::launcher
