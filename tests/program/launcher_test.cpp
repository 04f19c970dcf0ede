// lockstep-run. Stand-ins for mpirun and lockstep test its decisions; other tests use the real programs.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>

#include "cli/commands.h"
#include "core/process/process.h"
#include "support/run.h"

namespace lockstep::test {
namespace {

/// A copy of lockstep-run with shell scripts named mpirun and lockstep beside it.
class StandIns : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::copy(LOCKSTEP_RUN, folder_.string());
    folder_.write_script("mpirun", "echo \"$@\"");
    folder_.write_script("lockstep", "exit 1");
  }
  /// Writes an mpirun script that runs `before`, then `script` with the program in "$word" and its arguments
  /// in "$@".
  void write_mpirun(const std::string& script, const std::string& before = "") const {
    folder_.write_script(
        "mpirun", before + "for word; do shift; case $word in */lockstep) " + script + ";; esac; done");
  }
  /// Writes an mpirun script that sends `signals`, such as "HUP TERM", to its grandparent, lockstep-run, and
  /// runs until it is killed or one of its `traps` ends it.
  void write_mpirun_that_sends(const std::string& signals, const std::string& traps) const {
    folder_.write_script("mpirun",
                         traps + "; launcher=$(sed -n 's/^PPid:\t//p' /proc/$PPID/status); for signal in " +
                             signals + "; do kill -$signal $launcher; done; while :; do sleep 0.01; done");
  }
  /// Writes an mpirun script that execs lockstep, and a lockstep script that counts its starts in $n, reports
  /// the run directory $run, and then runs the commands in `lockstep`.
  void pretend(const std::string& lockstep) const {
    write_mpirun("exec \"$word\" \"$@\"");
    folder_.write_script("lockstep", "here='" + folder_.string() + R"('
echo "$@" >> "$here/starts"
n=$(wc -l < "$here/starts")
run=$here/run
mkdir -p "$run"
report() { echo "lockstep-${LOCKSTEP_LAUNCHER#3:} $1" >&2; }
report "{\"run_directory\":\"$run\"}"
checkpoint() { report "{\"checkpoint\":$1}"; }
fail() {
  echo "lockstep: error: words for people that nothing depends on" >&2
  report "{\"failure\":{\"rank\":$1,\"host\":\"a\",\"cause\":\"rank $1 on a: broken\",\"kind\":\"\",\"known\":true}}"
  exit "$2"
}
)" + lockstep);
  }
  Outcome launch(const Words& arguments, const Words& environment = {}) const {
    return run(Words{launcher_} + arguments, environment);
  }
  std::string starts() const { return contents(folder_ / "starts"); }
  /// Like `launch`, with a stand-in for ssh that runs `before` and then its command on this host.
  Outcome launch_elsewhere(const Words& arguments, const std::string& before = "",
                           const Words& environment = {}) const {
    folder_.write_script("orted", "");
    folder_.write_script("agent", before + "\nshift; exec sh -c \"$*\"");
    return launch(words("--interface lo") + arguments,
                  environment + Words{"OMPI_MCA_plm_rsh_agent=" + (folder_ / "agent").string()});
  }
  /// Line that starts() has for `command` when it resumes the run.
  std::string resumed(const std::string& command) const {
    const std::string run = (folder_ / "run").string();
    return command + " --run-dir " + run + " --resume " + run + "\n";
  }

  const TemporaryFolder folder_;
  const std::string launcher_ = (folder_ / "lockstep-run").string();
};

/// lockstep-run does not link lockstep, so it has its own list of subcommands.
TEST_F(StandIns, KnowAllSubcommandsAndWhichOfThemNeedOneRank) {
  for (const Command& command : commands()) {
    const std::string name = command.name;
    const std::string out = launch(words("-np 2 " + name)).out;
    EXPECT_TRUE(out.ends_with("/lockstep " + name + "\n")) << name << ": " << out;
    EXPECT_EQ(holds(out, "-np 1 "), command.is_alone) << name;
  }
  expect_holds(launch({"train", "--help"}).out, "-np 1 ");
  EXPECT_EQ(launch({}).status, 2);
}

TEST_F(StandIns, OptionsInTheEnvironmentReachOtherHosts) {
  const std::string out = launch({"-np", "2", "train"}, {"LOCKSTEP_LR=0.2"}).out;
  for (const char* variable : {"LR", "JOB", "LAUNCHER"})
    expect_holds(out, std::string("-x LOCKSTEP_") + variable + " ");
}

/// mpirun has no option --hosts; it gets --host. Hosts assigned by a scheduler are not probed.
TEST_F(StandIns, ListsOfHostsAreMpirunsInAJobOfAScheduler) {
  const Outcome outcome = launch(words("--hosts a:2,b train"), {"SLURM_JOB_ID=77"});
  expect_holds(outcome.out, " --host a:2,b:* ");
  EXPECT_FALSE(holds(outcome.out, "--hosts")) << outcome.out;
}

/// A silenced mpirun reports neither a lack of slots nor an unreadable file of hosts.
TEST_F(StandIns, TheStatusIsThatOfLockstepOrOfMpirun) {
  const auto without_reason = [](int status) {
    return "lockstep-run: mpirun ended with status " + std::to_string(status) +
           "; if nothing says why: lockstep-run --mca orte_execute_quiet 0 ...\n";
  };
  for (const int status : {0, 1, 2, 3, 4, 5, 70, 75, 137, 213}) {
    folder_.write_script("mpirun", "exit " + std::to_string(status));
    const Outcome outcome = launch({"-np", "2", "train"});
    EXPECT_EQ(outcome.status, status);
    const bool is_of_mpirun = status == 1 || status == 213;
    const std::string killed = "lockstep-run: the ranks were killed by signal 9 (often: no memory left)\n";
    EXPECT_EQ(outcome.err, status == 137 ? killed : is_of_mpirun ? without_reason(status) : "");
  }
  folder_.write_script("mpirun", "exit 1");
  EXPECT_EQ(launch({"diff", "a", "b"}).err, "") << "the results differ";
  expect_holds(launch({"-np", "2", "train"}, {"SLURM_JOB_ID=77"}).err,
               "status 1 in Slurm job 77 (if that job is over, unset SLURM_JOB_ID); if nothing says why");
  pretend("fail 1 137");
  EXPECT_EQ(launch({"-np", "2", "train"}).err, "lockstep: error: words for people that nothing depends on\n");
  for (const int status : {0, 3, 75}) {
    pretend("report '{\"status\":" + std::to_string(status) + "}'");
    write_mpirun("\"$word\" \"$@\"; kill -SEGV $$");
    const Outcome outcome = launch({"-np", "2", "train"});
    EXPECT_EQ(outcome.status, status);
    EXPECT_EQ(outcome.err, "lockstep-run: mpirun crashed after all ranks had exited (SIGSEGV)\n");
  }
  folder_.write_script("mpirun", "kill -SEGV $$");
  EXPECT_EQ(launch({"-np", "2", "train"}).status, 139) << "the ranks have reported nothing";
  std::filesystem::remove(folder_ / "mpirun");
  const Outcome without = launch({"train"}, {"PATH=/nowhere"});
  EXPECT_EQ(without.status, 4);
  EXPECT_EQ(without.err, "lockstep-run: error: mpirun not found; install openmpi-bin\n");
}

/// Killed ranks cannot print the signal, and mpirun is silenced.
TEST_F(StandIns, ASignalThatEndedTheRanksOrMpirunIsNamed) {
  const std::string start = launcher_ + " -np 2 train --run-dir " + (folder_ / "run").string() + " --resume ";
  pretend("checkpoint 7; exit 137");
  EXPECT_EQ(launch({"-np", "2", "train"}).err,
            "lockstep-run: the ranks were killed by signal 9 (often: no memory left); resume with: " + start +
                (folder_ / "run").string() + "\n");
  pretend("kill -9 $$");  // kills mpirun, which has become this process
  EXPECT_EQ(launch({"-np", "2", "train"}).err,
            "lockstep-run: mpirun was killed by SIGKILL; begin again with: " + start + "auto\n");
  expect_holds(launch(words("-np 2 --max-restarts 1 train")).err,
               "lockstep-run: failed: mpirun was killed by SIGKILL; starting again");
  pretend(
      R"(report '{"failure":{"rank":1,"host":"a","cause":"unknown","kind":"","known":false}}'; exit 137)");
  EXPECT_EQ(launch({"-np", "2", "train"}).err,
            "lockstep-run: a rank was killed by signal 9 (often: no memory left)\n");
}

/// For this error, Open MPI 4 exits with statuses that look like signals.
TEST_F(StandIns, AProgramThatMpirunCannotStartIsNamed) {
  const std::filesystem::path program = folder_.write("lockstep", "\x01\x02\x03");
  for (const int status : {131, 132}) {
    folder_.write_script("mpirun", "exit " + std::to_string(status));
    const Outcome outcome = launch({"-np", "2", "train"});
    EXPECT_EQ(outcome.status, 4);
    EXPECT_EQ(outcome.err,
              "lockstep-run: mpirun could not start " + program.string() + ", which is missing or damaged\n");
  }
  folder_.write_script("mpirun", "exit 137");
  EXPECT_EQ(launch({"-np", "2", "train"}).err,
            "lockstep-run: the ranks were killed by signal 9 (often: no memory left)\n")
      << "they had started";
  folder_.write_script("mpirun", "rm -f '" + program.string() + "'; exit 132");
  const Outcome restarted = launch(words("-np 2 --max-restarts 1 train"));
  EXPECT_EQ(restarted.status, 4);
  expect_holds(restarted.err, "lockstep-run: failed: mpirun could not start ");
  expect_holds(restarted.err, "; starting again (restart 1 of 1)\n");  // the run had not begun
  EXPECT_FALSE(holds(restarted.err, "signal")) << restarted.err;
}

/// mpirun of Open MPI 4 crashes without $HOME. The test is registered only if user namespaces are available.
TEST_F(StandIns, MpirunHasAHomeWhereTheUserHasNone) {
  const Words nobody = words("unshare --user --map-user=42424 env -u HOME");
  folder_.write_script("mpirun", R"(tr '\0' '\n' </proc/$$/environ | grep '^HOME=')");
  EXPECT_EQ(run(nobody + words("{} -np 2 train", launcher_)).out, "HOME=/\n");
}

TEST_F(StandIns, OpenFilesAreAllowedOrMissedBeforeMpirunStarts) {
  const auto with_limit = [&](const std::string& limit, const std::string& ranks = "-np 3") {
    return run({"bash", "-c", "ulimit " + limit + "; exec '" + launcher_ + "' " + ranks + " train"});
  };
  folder_.write_script("mpirun", "ulimit -Sn");
  EXPECT_GE(std::stoi(with_limit("-Sn 32").out), 39) << "what Open MPI 4.1 needs for three ranks";
  const Outcome outcome = with_limit("-n 32");
  EXPECT_EQ(outcome.status, 4);
  EXPECT_EQ(outcome.out, "");
  expect_holds(outcome.err, "lockstep-run: error: starting mpirun needs ");
  expect_holds(outcome.err, ", but it may have only 32: allow more (ulimit -n ");
  for (const char* ranks : {"--host localhost:64", "--host localhost:64 --oversubscribe -np 64"}) {
    expect_holds(with_limit("-n 128", ranks).err, ", but it may have only 128: allow more (ulimit -n ");
  }
}

TEST_F(StandIns, TheFolderForTemporaryFilesIsCheckedUnlessSessionsHaveAnother) {
  const Words start{"-np", "2", "train"};
  const std::string other = folder_.string();
  const Outcome refused = launch(start, {"TMPDIR=/nowhere"});  // mpirun itself would print 15 lines
  EXPECT_EQ(refused.status, 4);
  expect_holds(refused.err,
               "mpirun needs a folder for its session, but /nowhere cannot be written to: No such file");
  for (const char* variable :
       {"OMPI_MCA_orte_tmpdir_base", "OMPI_MCA_orte_local_tmpdir_base", "PRTE_MCA_prte_tmpdir_base"}) {
    EXPECT_EQ(launch(start, {"TMPDIR=/nowhere", std::string(variable) + "=" + other}).status, 0) << variable;
  }
  for (const char* parameter : {"orte_tmpdir_base", "prte_tmpdir_base"}) {
    EXPECT_EQ(launch(Words{"--mca", parameter, other} + start, {"TMPDIR=/nowhere"}).status, 0) << parameter;
  }
  folder_.write(".openmpi/mca-params.conf", "# comment\n orte_tmpdir_base=" + other + "\n");
  EXPECT_EQ(launch(start, {"TMPDIR=/nowhere", "HOME=" + folder_.string()}).status, 0);
}

/// Open MPI's mpirun may hang when its only rank is killed during start-up; lockstep-run then kills it. After
/// ranks have exited normally, mpirun may still be waiting for the reader of their output.
TEST_F(StandIns, AnMpirunWhoseRanksAreGoneIsKilledUnlessTheyEndedByThemselves) {
  for (const bool reported : {false, true}) {
    pretend(reported ? "sleep 0.1; report '{\"status\":0}'" : "sleep 0.1; kill -9 $$");
    write_mpirun(std::string("\"$word\" \"$@\"; exec sleep ") + (reported ? "7" : "1000"));
    const Outcome outcome = launch({"-np", "1", "train"});
    EXPECT_EQ(outcome.status, reported ? 0 : 137);
    EXPECT_EQ(holds(outcome.err, "mpirun did not notice that the ranks were killed; killed it"), !reported)
        << outcome.err;
  }
  write_mpirun("sleep 0.1; exec sleep 7");  // ranks on other hosts are not children of mpirun
  const Outcome elsewhere = launch({"-np", "1", "train"}, {"SLURM_JOB_ID=77"});
  EXPECT_EQ(elsewhere.status, 0) << elsewhere.err;
}

/// The host is still booting when it is probed for the first time.
TEST_F(StandIns, AHostThatAnswersLateGetsItsRanksAndItsNetwork) {
  const std::string asked = (folder_ / "asked").string();
  folder_.write_script("lockstep", LOCKSTEP_PROGRAM R"( "$@" | sed 's/"gpus":[0-9]*/"gpus":8/')");
  const Outcome outcome = launch_elsewhere(words("--max-restarts 1 --hosts elsewhere train"),
                                           "[ -e " + asked + " ] || { : >" + asked + "; exit 255; }");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  expect_holds(outcome.err, "failed: host elsewhere cannot be reached; starting again");
  expect_holds(outcome.out, " -x OMPI_MCA_oob_tcp_if_include ");
  expect_holds(outcome.out, " --host elsewhere:8 -np 8 ");
}

/// mpirun itself would wait forever and print nothing, for example if ssh hangs.
TEST_F(StandIns, AnMpirunThatWaitsForOtherHostsIsNamedUnlessARankHasStarted) {
  folder_.write_script("lockstep", "exec " LOCKSTEP_PROGRAM R"( "$@")");
  folder_.write_script("mpirun", R"(echo "lockstep-${LOCKSTEP_LAUNCHER#3:} $REPORT" >&2; exec sleep 10)");
  for (const std::string report : {"", "{}"}) {
    const Outcome outcome = launch_elsewhere(words("--hosts elsewhere:1 train"), "", {"REPORT=" + report});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(
        holds(outcome.err,
              "lockstep-run: warning: mpirun has waited 10 s for other hosts (elsewhere), and no rank has "
              "started; the run ends if this takes 300 s\n"),
        report.empty())
        << outcome.err;
  }
}

TEST_F(StandIns, ARestartContinuesFromTheNewestCheckpoint) {
  pretend("checkpoint $n; if [ $n -lt 3 ]; then fail $n 4; fi; echo done");
  const Outcome outcome = launch(words("-np 2 --max-restarts 5 train --lr 1 --resume old"));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "done\n");
  EXPECT_EQ(starts(), "train --lr 1 --resume old\n" + resumed("train --lr 1") + resumed("train --lr 1"));
  expect_holds(outcome.err,
               "lockstep-run: failed: rank 1 on a: broken; continuing from the checkpoint of step 1 "
               "(restart 1 of 5)\n");
  expect_holds(outcome.err, "lockstep-run: 2 restarts (rank 1 on a: broken; rank 2 on a: broken); ");
}

/// Ranks print names of files, classes and hosts, so data can imitate any line.
TEST_F(StandIns, NothingThatRanksPrintIsTakenForAReport) {
  pretend(R"sh(checkpoint $n
echo "lockstep: warning: ds/z lockstep: run directory $here/other: is empty; skipped" >&2
echo "lockstep: warning: z lockstep: error: rank 0 on evilhost: x.png: is empty; skipped" >&2
echo "lockstep: warning: process rank 0 with PID 1 on node evilhost exited on signal 9 (Killed)" >&2
echo "lockstep-0123456789abcdef {\"run_directory\":\"$here/other\"}" >&2
if [ $n -lt 2 ]; then fail 1 4; fi)sh");
  const Outcome outcome = launch(words("-np 2 --max-restarts 5 train"));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(starts(), "train\n" + resumed("train"));
  expect_holds(outcome.err, "1 restart (rank 1 on a: broken); ");
  EXPECT_FALSE(holds(outcome.err, "run_directory\":\"" + (folder_ / "run").string())) << "reports are hidden";
}

TEST(LockstepRun, RanksReportRunDirectoryStepsCheckpointsAndFailure) {
  const TemporaryFolder folder;
  const Words command = words(
      "env -C {} {} train --dataset synthetic --samples 8 --model mlp:4 --epochs 1 --quiet --run-dir here",
      folder, LOCKSTEP_PROGRAM);
  const std::string line =
      R"({"run_directory":")" + (folder / "here").string() + "\",\"step\":0,\"checkpoint\":0}\n";
  EXPECT_FALSE(holds(run(command).err, line));
  const Words secret = {"LOCKSTEP_LAUNCHER=3:0123"};
  const Outcome used = run(command, secret);
  EXPECT_EQ(used.status, 2);
  EXPECT_EQ(count(used.err, R"(lockstep-0123 {"failure":{"rank":0,"host":")"), 1) << used.err;
  std::filesystem::remove_all(folder / "here");
  const Outcome reported = run(command, secret);
  EXPECT_TRUE(reported.err.starts_with("lockstep-0123 {}\n")) << "the rank has started: " << reported.err;
  const std::size_t start = reported.err.find("lockstep-0123 " + line);
  const std::size_t first_step = reported.err.find("lockstep-0123 {\"step\":1}\n", start);
  EXPECT_NE(reported.err.find("lockstep-0123 {\"checkpoint\":1}\n", first_step), std::string::npos)
      << reported.err;
  EXPECT_TRUE(reported.err.ends_with("lockstep-0123 {\"status\":0}\n")) << reported.err;
}

TEST_F(StandIns, RestartsReceiveTheElapsedTime) {
  pretend(
      "echo \"${LOCKSTEP_SECONDS_BEFORE:-none}\"; checkpoint $n; if [ $n -lt 3 ]; then fail $n 4; fi; "
      "exit 75");
  const Outcome outcome = launch(words("-np 2 --max-restarts 5 train"), {"LOCKSTEP_SECONDS_BEFORE=1000"});
  EXPECT_EQ(outcome.status, 75) << outcome.err;
  std::istringstream lines(outcome.out);
  std::string first;
  double second = 0, third = 0;
  lines >> first >> second >> third;
  EXPECT_EQ(first, "none");
  EXPECT_TRUE(0 < second && second < third && third < 1000) << outcome.out;
  expect_holds(outcome.err,
               "2 restarts (rank 1 on a: broken; rank 2 on a: broken); ");  // the stop is not a failure
}

TEST_F(StandIns, GiveUpWithTheReason) {
  struct Row {
    const char* lockstep;
    int status;
    int starts;
    const char* reason;
  };
  for (const Row& row : std::vector<Row>{
           {"fail 0 2", 2, 1, "rank 0 on a: broken; giving up: wrong usage (status 2)"},
           {"fail 0 3", 3, 1, "giving up: bad input data (status 3)"},
           {"checkpoint 7; fail $n 4", 4, 2,
            "giving up: two attempts failed without writing a checkpoint after step 7"},
           {"fail $n 70", 70, 2, "; starting again from the beginning (restart 1 of 3)"},
           {"checkpoint $n; fail $n 5", 5, 4, "giving up: it failed 4 times; --max-restarts allows 3"},
           {"checkpoint 7; rm -r \"$run\"; fail 0 4", 4, 1, "/run was removed\n"}}) {
    pretend(row.lockstep);
    const Outcome outcome = launch(words("-np 2 --max-restarts 3 train"));
    EXPECT_EQ(outcome.status, row.status) << row.lockstep;
    EXPECT_EQ(count(starts(), "\n"), row.starts) << row.lockstep;
    expect_holds(outcome.err, row.reason);
    std::filesystem::remove(folder_ / "starts");
  }
}

TEST_F(StandIns, ContinueWithFewerRanksWhereOneKeepsFailing) {
  pretend("if [ $n -lt 3 ]; then fail 1 4; fi");
  write_mpirun("exec \"$word\" \"$@\"", "echo \"$@\" >> '" + (folder_ / "mpirun-starts").string() + "'; ");
  const Outcome outcome = launch(words("-np 4 --max-restarts 5 --min-ranks 3 train"));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const std::string lines = contents(folder_ / "mpirun-starts");
  EXPECT_EQ(count(lines, "-np 4 "), 2) << lines;
  EXPECT_EQ(count(lines, "-np 3 "), 1) << lines;
  expect_holds(outcome.err, "rank 1 on a failed 2 times in a row: continuing with 3 ranks");
}

/// Signals to lockstep-run reach the stand-in for mpirun as SIGUSR1. A stopped run is not restarted.
TEST_F(StandIns, SignalsStopTheRanksWithStatus75) {
  const std::string stop =
      R"(stop() { echo "lockstep-${LOCKSTEP_LAUNCHER#3:} {\"stop\":{\"cause\":\"SIGUSR1\",)"
      R"(\"text\":\"at step 7; resume with: $LOCKSTEP_START train\"}}" >&2; exit 75; }; )";
  for (const std::string signal : {"TERM", "INT", "HUP", "XCPU", "USR1"}) {
    write_mpirun_that_sends(signal, stop + "trap stop USR1");
    const Outcome outcome = launch(words("-np 2 --max-restarts 3 train"));
    EXPECT_EQ(outcome.status, 75) << signal << outcome.err;
    EXPECT_EQ(outcome.err, "lockstep-run: SIG" + signal + ": asking the ranks to stop" +
                               (signal == "INT" ? "; Ctrl-C again ends them at once\n" : "\n") +
                               "lockstep: stopped by SIG" + signal + " at step 7; resume with: " + launcher_ +
                               " -np 2 --max-restarts 3 train\n");
  }
  // SIGUSR2 does not stop ranks. lockstep-run holds it back until the ranks can handle it.
  folder_.write_script("mpirun", R"(kill -USR2 $(sed -n 's/^PPid:\t//p' /proc/$PPID/status)
sleep 0.3; trap 'exit 7' USR2; echo "lockstep-${LOCKSTEP_LAUNCHER#3:} {\"step\":0}" >&2
while :; do sleep 0.01; done)");
  EXPECT_EQ(launch({"-np", "2", "train"}).status, 7);
}

/// mpirun then exits with 0 or with a status of its own choosing.
TEST_F(StandIns, AStopBeforeTheRanksHaveStartedIsNoSuccess) {
  for (const std::string status : {"0", "244"}) {
    write_mpirun_that_sends("TERM", "trap 'exit " + status + "' USR1");
    const Outcome outcome = launch(words("-np 2 --max-restarts 3 train"));
    EXPECT_EQ(outcome.status, 75) << status;
    EXPECT_EQ(outcome.err, "lockstep-run: SIGTERM: asking the ranks to stop\n");
  }
  write_mpirun_that_sends("TERM", R"(echo "lockstep-${LOCKSTEP_LAUNCHER#3:} {}" >&2; trap 'exit 0' USR1)");
  EXPECT_EQ(launch({"-np", "2", "train"}).status, 0) << "the ranks had made their last step";
}

/// Before the ranks' first step, or while hosts are probed again, only lockstep-run knows of the checkpoint.
TEST_F(StandIns, AStopDuringARestartAdvisesToResume) {
  const auto advice = [&](const std::string& options) {
    return "lockstep-run: resume with: " + launcher_ + " " + options + " " + resumed("train");
  };
  pretend(R"(if [ $n -lt 2 ]; then checkpoint 7; fail 1 4; fi
trap 'exit 75' USR1; kill -TERM $(sed -n 's/^PPid:\t//p' /proc/$PPID/status); while :; do sleep 0.01; done)");
  const Outcome starting = launch(words("-np 2 --max-restarts 3 train"));
  EXPECT_EQ(starting.status, 75) << starting.err;
  expect_holds(starting.err, advice("-np 2 --max-restarts 3"));
  const std::string asked = (folder_ / "asked").string();
  folder_.write_script("lockstep", "exec " LOCKSTEP_PROGRAM R"( "$@")");
  folder_.write_script("mpirun", R"(echo "lockstep-${LOCKSTEP_LAUNCHER#3:} )"
                                 R"({\"run_directory\":\")" +
                                     (folder_ / "run").string() + R"(\",\"checkpoint\":7}" >&2; exit 4)");
  const Outcome asking =
      launch_elsewhere(words("--hosts elsewhere:2 --max-restarts 1 train"),
                       "[ ! -e " + asked + " ] || { kill -TERM $PPID; exec sleep 60; }; : >" + asked);
  EXPECT_EQ(asking.status, 75) << asking.err;
  expect_holds(asking.err, advice("--interface lo --hosts elsewhere:2 --max-restarts 1"));
}

/// lockstep-run still uses SIGUSR1 to ask the ranks to stop.
TEST_F(StandIns, SignalsThatAreIgnoredStayIgnored) {
  write_mpirun_that_sends("HUP TERM", "trap 'exit 75' USR1");
  const Words ignoring = words("env --ignore-signal=HUP --ignore-signal=CHLD --ignore-signal=USR1");
  const Outcome outcome = run(ignoring + words("{} -np 2 train", launcher_));
  EXPECT_EQ(outcome.status, 75);
  EXPECT_EQ(outcome.err, "lockstep-run: SIGTERM: asking the ranks to stop\n");
}

TEST_F(StandIns, RanksThatDoNotStopAreKilled) {
  write_mpirun_that_sends("TERM", "trap '' USR1");
  const Outcome outcome = launch(words("-np 2 --grace 0 train"));
  EXPECT_EQ(outcome.status, 128 + 15);
  expect_holds(outcome.err, "the ranks did not stop within 0 s; ending them");
  EXPECT_EQ(launch({"-np", "2", "eval"}).status, 128 + 15);             // eval writes no checkpoints
  folder_.write_script("lockstep", "kill -TERM $PPID; exec sleep 60");  // while hosts are probed
  EXPECT_EQ(launch(words("--hosts elsewhere:2 eval")).status, 128 + 15);
  EXPECT_EQ(launch(words("--hosts elsewhere:2 train")).status, 75);
}

/// The warning about stdout cannot be read either.
TEST_F(StandIns, ContinueWhereNobodyReadsStderr) {
  pretend(
      "i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); echo $i; echo $i >&2 || exit 9; done; echo > "
      "\"$here/end\"");
  const Outcome outcome = run({"bash", "-c",
                               "{ '" + launcher_ + "' -np 2 train 2>&1; echo $? >'" +
                                   (folder_ / "status").string() + "'; } | head -n 1"});
  EXPECT_NE(outcome.out, "");
  EXPECT_EQ(contents(folder_ / "status"), "0\n");
  EXPECT_TRUE(std::filesystem::exists(folder_ / "end"));
}

TEST_F(StandIns, ReportAFullDisk) {
  folder_.write_script("mpirun", "echo digest");
  const Outcome outcome = run({"sh", "-c", "exec '" + launcher_ + "' -np 2 train >/dev/full"});
  EXPECT_EQ(outcome.err,
            "lockstep-run: warning: stdout: No space left on device; the run continues without it\n");
  EXPECT_EQ(outcome.status, 4);
  folder_.write_script("mpirun", "head -c 5000000 /dev/zero");
  const Outcome limited =
      run({"bash", "-c",
           "ulimit -f 4096; exec '" + launcher_ + "' -np 2 train >'" + (folder_ / "log").string() + "'"});
  EXPECT_EQ(limited.err, "lockstep-run: warning: stdout: File too large; the run continues without it\n");
  EXPECT_EQ(limited.status, 4);
}

/// The second attempt fails like the first one. The steps of both are lost, and the run can start over in its
/// directory.
TEST(LockstepRun, AKillBeforeTheFirstCheckpointAdvisesACommandThatWorks) {
  const TemporaryFolder folder;
  const std::string start = std::string(LOCKSTEP_RUN) + " -np 2 --max-restarts 2 --min-ranks 2 train ";
  const std::string options =
      "--dataset synthetic --synthetic-shape 1x28x28 --samples 200000 --model mlp:512 --batch-size 32 "
      "--micro-batches 2 --threads 1 --checkpoint-every 1h";
  Started killed(words(start + options) + words("--run-dir {}", folder / "run"),
                 {"OMPI_MCA_odls_base_sigkill_timeout=1"});  // time for the ranks to print their line
  const auto has_ended = [&] {
    siginfo_t end{};
    waitid(P_PID, static_cast<id_t>(killed.process()), &end, WEXITED | WNOHANG | WNOWAIT);
    return end.si_pid != 0;
  };
  std::vector<pid_t> ranks;
  for (int attempt = 0; attempt < 2; ++attempt) {
    const std::vector<pid_t> before = ranks;
    const auto train = [&] {
      ranks = killed.processes_of(LOCKSTEP_PROGRAM);
      const bool are_new = std::ranges::find_first_of(ranks, before) == ranks.end();
      return ranks.size() == 2 && are_new && !contents(folder / "run/metrics.jsonl").empty();
    };
    while (!train()) ASSERT_FALSE(has_ended()) << killed.wait().err;
    kill(ranks[1], SIGKILL);
  }
  const Outcome outcome = killed.wait();
  expect_holds(outcome.err, "giving up: two attempts failed before writing a checkpoint");
  EXPECT_TRUE(std::regex_search(outcome.err, std::regex("lost steps: at least [1-9]"))) << outcome.err;
  const std::string advice = after_last(outcome.err, "; begin again with: ");
  EXPECT_EQ(advice, start + options + " --run-dir " + (folder / "run").string() + " --resume auto")
      << outcome.err;
  const Outcome again = run({"bash", "-c", advice + " --max-steps 2"});
  EXPECT_EQ(again.status, 0) << again.err;
}

/// Directly in /dev/shm, segments of jobs in containers with the same host name and PIDs would collide. In
/// the temporary folder, an exiting mpirun would remove the parent folder of a session that another mpirun is
/// starting.
TEST(LockstepRun, MpiKeepsItsFilesInFoldersOfTheJob) {
  if (!LOCKSTEP_OPEN_MPI_4)
    GTEST_SKIP() << "Open MPI 5 may keep no segments, and names its sessions otherwise";
  const TemporaryFolder folder, temporary;
  Started started(
      words("{} -np 2 train --dataset synthetic --samples 640 --model mlp:8 --epochs 100000 --run-dir {}",
            LOCKSTEP_RUN, folder / "run"),
      {"TMPDIR=" + temporary.string()});
  started.await_line("epoch ");
  const std::vector<pid_t> ranks = started.processes_of(LOCKSTEP_PROGRAM);
  ASSERT_EQ(ranks.size(), 2U);
  const std::string variables = contents("/proc/" + std::to_string(ranks[0]) + "/environ");
  const std::string job = after_last(variables, "LOCKSTEP_JOB=").substr(0, 16);
  const std::filesystem::path segments = "/dev/shm/lockstep-" + job + "-mpi-segments";
  ASSERT_TRUE(std::filesystem::exists(segments));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(segments), {}), 2);
  EXPECT_TRUE(std::filesystem::exists(temporary / ("lockstep-" + job + "-mpirun")));
  for (const std::string& name : temporary.names()) EXPECT_FALSE(name.starts_with("ompi.")) << name;
  kill(started.process(), SIGTERM);
  EXPECT_EQ(started.wait().status, 75);
  EXPECT_FALSE(std::filesystem::exists(segments));
  EXPECT_TRUE(temporary.names().empty());
}

TEST(LockstepRun, ARankThatIsKilledChangesNoBit) {
  const TemporaryFolder folder;
  const auto training_in = [&](const std::string& name) {
    return words("train --dataset synthetic --samples 640 --model mlp:8 --epochs 50 --run-dir {}",
                 folder / name);
  };
  Started killed(words("{} -np 2 --max-restarts 3", LOCKSTEP_RUN) + training_in("killed"));
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
  expect_holds(outcome.err, "continuing from the checkpoint of step ");
  expect_holds(outcome.err, "lockstep-run: 1 restart (rank 1 on host ");
  const Outcome untouched = lockstep(0, training_in("untouched"));
  EXPECT_EQ(digest_of(outcome.out), digest_of(untouched.out));
}

}  // namespace
}  // namespace lockstep::test
