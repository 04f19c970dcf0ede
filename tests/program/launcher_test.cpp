// lockstep-run: with stand-ins for mpirun and lockstep where its own decisions are tested, otherwise with the
// real ones.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/started.h"

namespace lockstep::test {
namespace {

/// A copy of lockstep-run with an mpirun and a lockstep of the shell beside it.
class StandIns : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::copy(LOCKSTEP_RUN, folder_.string());
    script("mpirun", "echo \"$@\"");
    script("lockstep", "exit 1");
  }
  void script(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << "#!/bin/sh\n" << text << "\n";
    std::filesystem::permissions(folder_ / name, std::filesystem::perms::owner_all);
  }
  /// mpirun then becomes lockstep; `lockstep` counts its starts in $n, and can use the run directory $run.
  void pretend(const std::string& lockstep) const {
    script("mpirun", "for word; do shift; case $word in */lockstep) exec \"$word\" \"$@\";; esac; done");
    script("lockstep", "here='" + folder_.string() + R"('
echo "$@" >> "$here/starts"
n=$(wc -l < "$here/starts")
run=$here/run
if [ -n "$LOCKSTEP_TELL_RUN_DIR" ]; then echo "lockstep: run directory $run" >&2; fi
checkpoint() { mkdir -p "$run/checkpoints/step-$1" && : > "$run/checkpoints/step-$1/MANIFEST"; }
fail() { echo "lockstep: error: rank $1 on a: broken" >&2; exit "$2"; }
)" + lockstep);
  }
  Outcome launch(std::vector<std::string> arguments, const std::vector<std::string>& environment = {}) const {
    arguments.insert(arguments.begin(), (folder_ / "lockstep-run").string());
    return run(arguments, environment);
  }
  std::string starts() const { return contents(folder_ / "starts"); }

  const TemporaryFolder folder_;
};

TEST_F(StandIns, HostsAreToldFromSubcommands) {
  for (const char* host : {"data", "train", "eval"}) {
    for (const char* option : {"-H", "--host", "--hostfile"}) {
      const std::string out = launch({option, host, "-np", "2", "train", "--epochs", "1"}).out;
      EXPECT_NE(out.find(std::string(option) + " " + host + " -np 2 "), std::string::npos) << out;
      EXPECT_TRUE(out.ends_with("lockstep train --epochs 1\n")) << out;
    }
  }
  EXPECT_NE(launch({"--mca", "btl", "data", "eval", "m"}).out.find("--mca btl data "), std::string::npos);
  EXPECT_NE(launch({"--tag-output", "train"}).out.find("--tag-output "), std::string::npos);
}

/// The list of lockstep-run is its own: it does not link lockstep.
TEST_F(StandIns, KnowAllSubcommands) {
  std::istringstream help(lockstep(0, {"--help"}).out);
  int commands = 0;
  for (std::string line; std::getline(help, line) && line != "Commands:";) {
  }
  for (std::string line; std::getline(help, line) && !line.empty(); ++commands) {
    const std::string name = line.substr(2, line.find(' ', 2) - 2);
    EXPECT_TRUE(launch({"-np", "2", name}).out.ends_with("/lockstep " + name + "\n")) << name;
  }
  EXPECT_GE(commands, 7);
}

TEST_F(StandIns, OptionsInTheEnvironmentReachOtherHosts) {
  const std::string out = launch({"-np", "2", "train"}, {"LOCKSTEP_LR=0.2"}).out;
  EXPECT_NE(out.find("-x LOCKSTEP_LR "), std::string::npos) << out;
  EXPECT_NE(out.find("-x LOCKSTEP_JOB "), std::string::npos) << out;
  EXPECT_EQ(out.find("LOCKSTEP_TELL_RUN_DIR"), std::string::npos)
      << out;  // without restarts, nobody reads it
}

TEST_F(StandIns, TheStatusIsThatOfLockstep) {
  for (const int status : {0, 2, 3, 4, 5, 70, 75}) {
    script("mpirun", "exit " + std::to_string(status));
    const Outcome outcome = launch({"-np", "2", "train"});
    EXPECT_EQ(outcome.status, status);
    EXPECT_EQ(outcome.err, "");
  }
  EXPECT_EQ(launch({}).status, 2);
  EXPECT_EQ(launch({"--max-restarts", "x", "train"}).status, 2);
  EXPECT_EQ(launch({"--help"}).status, 0);
  std::filesystem::remove(folder_ / "mpirun");
  const Outcome without = launch({"train"}, {"PATH=/nowhere"});
  EXPECT_EQ(without.status, 4);
  EXPECT_EQ(without.err, "lockstep-run: error: mpirun not found; install openmpi-bin\n");
}

/// With --quiet, mpirun does not say that there are not enough slots, or a file of hosts cannot be read.
TEST_F(StandIns, ItIsToldThatMpirunItselfFailed) {
  for (const int status : {1, 137, 213}) {
    script("mpirun", "exit " + std::to_string(status));
    const Outcome outcome = launch({"-np", "2", "train"});
    EXPECT_EQ(outcome.status, status);
    EXPECT_EQ(outcome.err, "lockstep-run: mpirun ended with status " + std::to_string(status) +
                               "; if nothing says why: lockstep-run --mca orte_execute_quiet 0 ...\n");
  }
  script("mpirun", "exit 1");
  EXPECT_EQ(launch({"diff", "a", "b"}).err, "") << "the results differ";
  script("mpirun", "echo 'lockstep: error: rank 1 on host a was killed by signal 9' >&2; exit 137");
  EXPECT_EQ(launch({"-np", "2", "train"}).err, "lockstep: error: rank 1 on host a was killed by signal 9\n");
}

TEST_F(StandIns, ARestartGoesOnFromTheNewestCheckpoint) {
  pretend("checkpoint 0000000$n; if [ $n -lt 3 ]; then fail $n 4; fi; echo done");
  const Outcome outcome =
      launch({"-np", "2", "--max-restarts", "5", "train", "--lr", "1", "--resume", "old"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "done\n");
  const std::string run_directory = (folder_ / "run").string();
  const std::string resumed = "train --lr 1 --run-dir " + run_directory + " --resume " + run_directory + "\n";
  EXPECT_EQ(starts(), "train --lr 1 --resume old\n" + resumed + resumed);
  EXPECT_NE(
      outcome.err.find("lockstep-run: failed: rank 1 on a: broken; going on from the checkpoint of step 1 "
                       "(restart 1 of 5)\n"),
      std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("lockstep-run: 2 restarts (rank 1 on a: broken; rank 2 on a: broken); "),
            std::string::npos)
      << outcome.err;
}

/// Rank 0 may be on another host, so its stderr is all that arrives here, maybe marked by mpirun.
TEST_F(StandIns, TheRunDirectoryIsToldOnStderr) {
  pretend("checkpoint 0000000$n; if [ $n -lt 2 ]; then fail 0 4; fi");
  script("tagged", "\"" + (folder_ / "lockstep").string() + "\" \"$@\" 2>&1 | sed 's/^/[1,0]<stderr>:/' >&2");
  script("mpirun", "for word; do shift; case $word in */lockstep) '" + (folder_ / "tagged").string() +
                       "' \"$@\"; exit $(($(wc -l < '" + (folder_ / "starts").string() +
                       "') < 2));; esac; done");
  const Outcome outcome = launch({"-np", "2", "--max-restarts", "1", "train"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const std::string run_directory = (folder_ / "run").string();
  EXPECT_EQ(starts(), "train\ntrain --run-dir " + run_directory + " --resume " + run_directory + "\n");
}

TEST(LockstepRun, RanksTellTheirRunDirectoryWhereItIsAskedFor) {
  const TemporaryFolder folder;
  const std::vector<std::string> command = {"sh",
                                            "-c",
                                            "cd \"$0\" && exec \"$@\"",
                                            folder.path().string(),
                                            LOCKSTEP_PROGRAM,
                                            "train",
                                            "--dataset",
                                            "synthetic",
                                            "--samples",
                                            "8",
                                            "--model",
                                            "mlp:4",
                                            "--epochs",
                                            "1",
                                            "--quiet",
                                            "--run-dir",
                                            "here"};
  const std::string line = "lockstep: run directory " + (folder / "here").string() + "\n";
  EXPECT_EQ(run(command).err.find(line), std::string::npos);
  std::filesystem::remove_all(folder / "here");
  const Outcome asked = run(command, {"LOCKSTEP_TELL_RUN_DIR=1"});
  EXPECT_EQ(count(asked.err, line), 1) << asked.err;
}

TEST_F(StandIns, RestartsAreToldHowLongTheRunHasTaken) {
  pretend(
      "echo \"${LOCKSTEP_SECONDS_BEFORE:-none}\"; checkpoint 0000000$n; if [ $n -lt 3 ]; then fail $n 4; fi; "
      "exit 75");
  const Outcome outcome =
      launch({"-np", "2", "--max-restarts", "5", "train"}, {"LOCKSTEP_SECONDS_BEFORE=1000"});
  EXPECT_EQ(outcome.status, 75) << outcome.err;
  std::istringstream lines(outcome.out);
  std::string first;
  double second = 0, third = 0;
  lines >> first >> second >> third;
  EXPECT_EQ(first, "none");
  EXPECT_TRUE(0 < second && second < third && third < 1000) << outcome.out;
  EXPECT_NE(outcome.err.find("2 restarts (rank 1 on a: broken; rank 2 on a: broken); "), std::string::npos)
      << outcome.err;  // the stop is no failure
}

TEST_F(StandIns, GiveUpWithTheReason) {
  struct Row {
    const char* lockstep;
    int status;
    int starts;
    const char* reason;
  };
  for (const Row& row :
       std::vector<Row>{{"fail 0 2", 2, 1, "rank 0 on a: broken; giving up: wrong usage (status 2)"},
                        {"fail 0 3", 3, 1, "giving up: bad input data (status 3)"},
                        {"checkpoint 00000007; fail $n 4", 4, 2,
                         "giving up: it failed twice from the checkpoint of step 7"},
                        {"fail $n 70", 70, 2, "giving up: it failed twice without a checkpoint"},
                        {"fail $n 70", 70, 2, "; starting again from the beginning (restart 1 of 3)"},
                        {"checkpoint 0000000$n; fail $n 5", 5, 4,
                         "giving up: it failed 4 times; --max-restarts allows 3"}}) {
    pretend(row.lockstep);
    const Outcome outcome = launch({"-np", "2", "--max-restarts", "3", "train"});
    EXPECT_EQ(outcome.status, row.status) << row.lockstep;
    EXPECT_EQ(count(starts(), "\n"), row.starts) << row.lockstep;
    EXPECT_NE(outcome.err.find(row.reason), std::string::npos) << outcome.err;
    std::filesystem::remove(folder_ / "starts");
    std::filesystem::remove_all(folder_ / "run");
  }
}

TEST_F(StandIns, GoOnWithFewerRanksWhereOneKeepsFailing) {
  pretend("if [ $n -lt 3 ]; then fail 1 4; fi");
  script("mpirun", "echo \"$@\" >> '" + (folder_ / "mpirun-starts").string() +
                       "'; for word; do shift; case $word in */lockstep) exec \"$word\" \"$@\";; esac; done");
  const Outcome outcome = launch({"-np", "4", "--max-restarts", "5", "--min-ranks", "3", "train"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const std::string lines = contents(folder_ / "mpirun-starts");
  EXPECT_EQ(count(lines, "-np 4 "), 2) << lines;
  EXPECT_EQ(count(lines, "-np 3 "), 1) << lines;
  EXPECT_NE(outcome.err.find("rank 1 on a failed 2 times in a row: going on with 3 ranks"), std::string::npos)
      << outcome.err;
}

/// The stand-in for mpirun, whose parent's parent is lockstep-run, is asked to stop, and has nothing to
/// restart.
TEST_F(StandIns, SignalsStopTheRanksWithStatus75) {
  const std::string find_launcher = "launcher=$(sed -n 's/^PPid:\t//p' /proc/$PPID/status); ";
  for (const std::string signal : {"TERM", "INT", "HUP", "USR1"}) {
    script("mpirun", find_launcher + "trap 'exit 75' USR1; kill -" + signal +
                         " $launcher; while :; do sleep 0.01; done");
    const Outcome outcome = launch({"-np", "2", "--max-restarts", "3", "train"});
    EXPECT_EQ(outcome.status, 75) << signal << outcome.err;
    EXPECT_EQ(outcome.err, "lockstep-run: SIG" + signal + ": asking the ranks to stop" +
                               (signal == "INT" ? "; Ctrl-C again ends them at once\n" : "\n"));
  }
  script("mpirun", find_launcher + "trap 'exit 7' USR2; kill -USR2 $launcher; while :; do sleep 0.01; done");
  EXPECT_EQ(launch({"-np", "2", "train"}).status, 7);  // ranks would go on
}

TEST_F(StandIns, RanksThatDoNotStopAreKilled) {
  script("mpirun",
         "trap '' USR1; launcher=$(sed -n 's/^PPid:\t//p' /proc/$PPID/status); kill -TERM $launcher; sleep "
         "1000");
  const Outcome outcome = launch({"-np", "2", "--grace", "0", "train"});
  EXPECT_EQ(outcome.status, 128 + 15);
  EXPECT_NE(outcome.err.find("the ranks did not stop within 0 s; ending them"), std::string::npos)
      << outcome.err;
  EXPECT_EQ(launch({"-np", "2", "eval"}).status, 128 + 15);  // has no checkpoints to write
}

/// The run prints more lines than the failed writes that mpirun tolerates.
TEST(LockstepRun, GoesOnWhereNobodyReadsItsOutput) {
  const TemporaryFolder folder;
  const std::string model = (folder / "model.safetensors").string();
  const std::string closed = (folder / "closed").string(), status = (folder / "status").string();
  const Outcome outcome =
      run({"sh", "-c",
           "{ until [ -e '" + closed +
               "' ]; do sleep 0.01; done; '" LOCKSTEP_RUN
               "' -np 2 train --dataset synthetic --samples 64 --model mlp:4 --epochs 60 --save-model '" +
               model + "'; echo $? > '" + status + "'; } | { exec 0<&-; : > '" + closed +
               "'; }; until [ -s '" + status + "' ]; do sleep 0.01; done; cat '" + status + "'"});
  EXPECT_EQ(outcome.out, "0\n") << outcome.err;
  EXPECT_TRUE(std::filesystem::exists(model)) << outcome.err;
  EXPECT_NE(outcome.err.find("lockstep-run: warning: stdout: Broken pipe"), std::string::npos) << outcome.err;
}

/// The warning about stdout has no reader either.
TEST_F(StandIns, GoOnWhereNobodyReadsStderr) {
  pretend(
      "i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); echo $i; echo $i >&2 || exit 9; done; echo > "
      "\"$here/end\"");
  const std::string launcher = (folder_ / "lockstep-run").string();
  const Outcome outcome = run({"bash", "-c",
                               "{ '" + launcher + "' -np 2 train 2>&1; echo $? >'" +
                                   (folder_ / "status").string() + "'; } | head -n 1"});
  EXPECT_NE(outcome.out, "");
  EXPECT_EQ(contents(folder_ / "status"), "0\n");
  EXPECT_TRUE(std::filesystem::exists(folder_ / "end"));
}

TEST_F(StandIns, TellOfAFullDisk) {
  script("mpirun", "echo digest");
  const Outcome outcome =
      run({"sh", "-c", "exec '" + (folder_ / "lockstep-run").string() + "' -np 2 train >/dev/full"});
  EXPECT_EQ(outcome.err,
            "lockstep-run: warning: stdout: No space left on device; the run goes on without it\n");
  EXPECT_EQ(outcome.status, 4);
}

TEST(LockstepRun, ARankThatIsKilledChangesNoBit) {
  const TemporaryFolder folder;
  const std::vector<std::string> training = {"train",   "--dataset", "synthetic", "--samples", "640",
                                             "--model", "mlp:8",     "--epochs",  "50",        "--run-dir"};
  const auto in = [&](std::vector<std::string> command, const std::string& name) {
    command.insert(command.end(), training.begin(), training.end());
    command.push_back((folder / name).string());
    return command;
  };
  Started killed(in({LOCKSTEP_RUN, "-np", "2", "--max-restarts", "3"}, "killed"));
  const auto has_checkpoint = [&] {
    std::error_code missing;
    for (const auto& entry : std::filesystem::directory_iterator(folder / "killed/checkpoints", missing)) {
      if (std::filesystem::exists(entry.path() / "MANIFEST", missing)) return true;
    }
    return false;
  };
  while (!has_checkpoint()) killed.await_line("epoch ");
  const std::vector<pid_t> ranks = killed.processes_of(LOCKSTEP_PROGRAM);
  ASSERT_EQ(ranks.size(), 2U);
  kill(ranks[1], SIGKILL);
  const Outcome outcome = killed.wait();
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("going on from the checkpoint of step "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("lockstep-run: 1 restart (rank 1 on host "), std::string::npos) << outcome.err;
  const Outcome untouched = run(in({LOCKSTEP_PROGRAM}, "untouched"));
  EXPECT_EQ(digest_of(outcome.out), digest_of(untouched.out));
}

/// A source tree has a script of the same name.
TEST(LockstepRun, IsFoundFromASourceTree) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "launcher");
  std::filesystem::create_directories(folder / "build/release");
  std::filesystem::copy(LOCKSTEP_SOURCE "/launcher/lockstep-run", folder / "launcher");
  const std::vector<std::string> command = {"env", "PATH=/usr/bin:/bin",
                                            (folder / "launcher/lockstep-run").string(), "--help"};
  EXPECT_EQ(run(command).status, 4);
  std::filesystem::create_symlink(LOCKSTEP_RUN, folder / "build/release/lockstep-run");
  const Outcome found = run(command);
  EXPECT_EQ(found.status, 0) << found.err;
  EXPECT_TRUE(found.out.starts_with("Usage: lockstep-run ")) << found.out;
}

}  // namespace
}  // namespace lockstep::test
