// Signals and time limits end a run on all ranks, with status 75 and a line that says why.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <regex>
#include <utility>

#include "support/run.h"

namespace lockstep::test {
namespace {

/// Runs that only a signal ends, with an epoch line every few milliseconds.
const Words training = words(
    "train --dataset synthetic --synthetic-shape 1x28x28 --samples 96 --epochs 1000000000 --batch-size 32 "
    "--device cpu --model mlp:8 --micro-batches 4");
const Words endless = training + words("--lr 0");

void expect_stopped(const Outcome& outcome, const std::string& reason) {
  EXPECT_EQ(outcome.status, 75) << outcome.err;
  EXPECT_EQ(count(outcome.err, "lockstep: stopped by "), 1) << outcome.err;
  const std::regex line("lockstep: stopped by " + reason + " at step \\d+; ");
  EXPECT_TRUE(std::regex_search(outcome.err, line)) << outcome.err;
  EXPECT_FALSE(holds(outcome.err, "lockstep: error")) << outcome.err;
}

/// Seconds that mpirun gives the other ranks after one exits with status 75; this is mpirun's default.
const Words usual_grace = {"OMPI_MCA_odls_base_sigkill_timeout=1"};

/// mpirun passes SIGUSR1 on to all ranks.
TEST(Stop, ASignalToOneRankOrToMpirunEndsAll) {
  struct Row {
    int ranks;   ///< 0: without mpirun
    int target;  ///< rank; -1: mpirun, or the process without it
    int signal;
    const char* reason;
  };
  for (const Row& row :
       {Row{0, -1, SIGTERM, "SIGTERM"}, Row{0, -1, SIGINT, "SIGINT"}, Row{0, -1, SIGUSR1, "SIGUSR1"},
        Row{2, -1, SIGUSR1, "SIGUSR1"}, Row{3, 0, SIGTERM, "SIGTERM to rank 0"},
        Row{3, 1, SIGTERM, "SIGTERM to rank 1"}, Row{3, 2, SIGTERM, "SIGTERM to rank 2"}}) {
    Started run(on_ranks(row.ranks, LOCKSTEP_PROGRAM, endless), usual_grace);
    run.await_line("epoch 1/");
    const std::vector<pid_t> ranks = run.processes_of(LOCKSTEP_PROGRAM);
    ASSERT_EQ(ranks.size(), static_cast<std::size_t>(std::max(1, row.ranks)));
    kill(row.target < 0 ? run.process() : ranks[static_cast<std::size_t>(row.target)], row.signal);
    expect_stopped(run.wait(), row.reason);
  }
}

/// Sends SIGTERM to a run whose output nobody reads, as in `lockstep train | less`, while it is blocked on a
/// full pipe. Nothing is read before the run ends.
Outcome stopped_while_nobody_reads(const Words& command) {
  Started run(command);
  run.await_line("epoch 1/");
  const int pipe = open(("/proc/" + std::to_string(run.process()) + "/fd/1").c_str(), O_WRONLY | O_CLOEXEC);
  EXPECT_GE(pipe, 0);
  pollfd room{.fd = pipe, .events = POLLOUT, .revents = 0};
  int bytes = 0;
  for (int looks = 0; looks < 100; ++looks) {  // until a write blocks: a full pipe may have room for one line
    usleep(10'000);
    const int before = std::exchange(bytes, 0);
    EXPECT_EQ(ioctl(pipe, FIONREAD, &bytes), 0);
    if (bytes != before || poll(&room, 1, 0) > 0) looks = 0;
  }
  kill(run.process(), SIGTERM);
  siginfo_t ended{};
  for (int look = 0; look < 6000 && ended.si_pid == 0; ++look) {
    usleep(10'000);
    waitid(P_PID, static_cast<id_t>(run.process()), &ended, WEXITED | WNOHANG | WNOWAIT);
  }
  EXPECT_EQ(ended.si_pid, run.process()) << "it has not ended within a minute";
  close(pipe);
  return run.wait();
}

TEST(Stop, ARunWhoseOutputNobodyReadsStops) {
  const Outcome alone = stopped_while_nobody_reads(Words{LOCKSTEP_PROGRAM} + endless);
  expect_stopped(alone, "SIGTERM");
  expect_holds(alone.err, "stdout: nobody reads it");
  const Words launched = words("{} -np 2", LOCKSTEP_RUN) + endless;
  expect_stopped(stopped_while_nobody_reads(launched), "SIGTERM");
  const Words both_streams = {"sh", "-c", "exec \"$@\" 2>&1", "sh"};  // as in `lockstep-run ... 2>&1 | less`
  EXPECT_EQ(stopped_while_nobody_reads(both_streams + launched).status, 75);
}

TEST(Stop, ARequestForACheckpointIsAnsweredWhereNoneIsKept) {
  Started run(on_ranks(0, LOCKSTEP_PROGRAM, endless));
  run.await_line("epoch 1/");
  kill(run.process(), SIGUSR2);
  run.await_line("epoch 1000/");  // more lines than a pipe holds
  kill(run.process(), SIGUSR1);
  const Outcome outcome = run.wait();
  expect_stopped(outcome, "SIGUSR1");
  EXPECT_EQ(count(outcome.err, "SIGUSR2: no checkpoint is written"), 1) << outcome.err;
}

/// On SIGTERM, mpirun waits, sends the ranks SIGTERM, waits equally long, sends SIGKILL and exits with status
/// 1. Meanwhile nothing reads the ranks' output.
TEST(Stop, MpirunGivesTheRanksTimeWhereAsked) {
  if (!LOCKSTEP_OPEN_MPI_4)
    GTEST_SKIP() << "the mpirun of Open MPI 5 drops what ranks print after its end began";
  const TemporaryFolder folder;
  Started run(on_ranks(2, LOCKSTEP_PROGRAM, endless + words("--quiet --run-dir {}", folder / "run"),
                       words("--mca odls_base_sigkill_timeout 2")));
  while (contents(folder / "run/metrics.jsonl").empty()) {
  }
  kill(run.process(), SIGTERM);
  const Outcome outcome = run.wait();
  EXPECT_EQ(outcome.status, 1);
  expect_holds(outcome.err, "lockstep: stopped by SIGTERM at step ");
}

/// Whether a process handles SIGTERM.
bool handles_termination(pid_t process) {
  const std::string caught = after_last(contents("/proc/" + std::to_string(process) + "/status"), "SigCgt:");
  return !caught.empty() && ((std::stoull(caught, nullptr, 16) >> (SIGTERM - 1)) & 1) != 0;
}

/// mpirun ends the other ranks with SIGTERM, and by default with SIGKILL a second later.
TEST(Stop, ASignalBeforeTheFirstStepEndsAllAtOnce) {
  if (!LOCKSTEP_OPEN_MPI_4)
    GTEST_SKIP() << "the mpirun of Open MPI 5 drops what ranks print after its end began";
  const TemporaryFolder folder;
  const std::string config = (folder / "config").string();
  ASSERT_EQ(mkfifo(config.c_str(), 0600), 0);  // start-up blocks until the other end is opened
  for (const std::size_t ranks : {0U, 2U}) {
    Started run(on_ranks(static_cast<int>(ranks), LOCKSTEP_PROGRAM, {"train", "--config", config},
                         words("--mca odls_base_sigkill_timeout 1")));
    std::vector<pid_t> processes;
    do {
      processes = run.processes_of(LOCKSTEP_PROGRAM);
    } while (processes.size() < std::max<std::size_t>(1, ranks) ||
             !std::ranges::all_of(processes, handles_termination));
    kill(processes.back(), SIGTERM);
    const Outcome outcome = run.wait();
    EXPECT_EQ(outcome.status, 75) << outcome.err;
    EXPECT_EQ(count(outcome.err,
                    "lockstep: stopped by SIGTERM before the first step: there is nothing to save; "
                    "start again\n"),
              1)
        << outcome.err;
  }
}

/// A second run in the same directory would destroy the first run's record and checkpoints.
TEST(Stop, OneRunAtATimeInARunDirectory) {
  const TemporaryFolder folder;
  const std::string directory = (folder / "run").string();
  const Words arguments = endless + words("--run-dir {} --resume auto", directory);
  const Words more = arguments + words("--max-time 1s");
  {
    Started first(on_ranks(0, LOCKSTEP_PROGRAM, arguments));
    first.await_line("epoch 1/");
    const Outcome second = lockstep(0, more);
    EXPECT_EQ(second.status, 4) << second.err;  // not status 2 (usage): the command works later
    const std::string holder = "/run is in use by process " + std::to_string(first.process()) + " on host ";
    EXPECT_EQ(count(second.err, "lockstep: error: "), 1) << second.err;
    expect_holds(second.err, holder);
    first.await_line("epoch ");  // the first run continues
    // A restarted run waits longer, because the lock of a dead host may persist for a while.
    Started waiting(Words{"sh", "-c", "exec \"$@\" 2>&1", "sh", LOCKSTEP_PROGRAM} + arguments,
                    {"LOCKSTEP_SECONDS_BEFORE=0.1"});
    waiting.await_line("lockstep: warning: " + directory + " is in use by ");
    kill(first.process(), SIGKILL);
    first.wait();
    waiting.await_line("epoch ");
    kill(waiting.process(), SIGKILL);
    waiting.wait();
  }
  EXPECT_TRUE(std::filesystem::exists(folder / "run/lock"));  // left by the killed run; blocks nobody
  expect_stopped(lockstep(0, more), "the time limit of 1s");
  EXPECT_FALSE(std::filesystem::exists(folder / "run/lock"));
}

/// Somebody deletes the lock file, believing that a killed run left it.
TEST(Stop, ARunWhoseLockIsRemovedEndsWhereAnotherHasBegun) {
  const TemporaryFolder folder;
  const Words arguments = endless + words("--run-dir {} --resume auto --checkpoint-every 1", folder / "run");
  Started first(on_ranks(0, LOCKSTEP_PROGRAM, arguments));
  first.await_line("epoch 1/");
  kill(first.process(), SIGSTOP);
  std::filesystem::remove(folder / "run/lock");
  Started second(on_ranks(0, LOCKSTEP_PROGRAM, arguments));
  second.await_line("epoch ");
  kill(first.process(), SIGCONT);
  const Outcome outcome = first.wait(60.0);
  EXPECT_EQ(outcome.status, 4) << outcome.err;
  const std::string holder = "/run is in use by process " + std::to_string(second.process()) + " on host ";
  EXPECT_EQ(count(outcome.err, "lockstep: error: "), 1) << outcome.err;
  expect_holds(outcome.err, holder);
  EXPECT_TRUE(std::filesystem::exists(folder / "run/lock")) << "it is the second run's";
  second.await_line("epoch ");
  kill(second.process(), SIGTERM);
  expect_stopped(second.wait(), "SIGTERM");
}

/// The run stops at an arbitrary point of an epoch of three steps or of its evaluation.
TEST(Stop, AStoppedRunContinuesWithTheSameResult) {
  const TemporaryFolder folder;
  const std::string run_directory = (folder / "run").string();
  Started run(on_ranks(2, LOCKSTEP_PROGRAM, training + words("--run-dir {}", run_directory)), usual_grace);
  run.await_line("epoch 2/");
  kill(run.processes_of(LOCKSTEP_PROGRAM).back(), SIGUSR1);
  const Outcome stopped = run.wait();
  expect_stopped(stopped, "SIGUSR1 to rank 1");
  expect_holds(stopped.err, "resume with: mpirun --oversubscribe --bind-to none -np 2 " LOCKSTEP_PROGRAM
                            " train --resume " +
                                run_directory + "\n");
  const std::string end = std::to_string(std::stoull(after_last(stopped.err, " at step ")) + 10);
  const Outcome resumed =
      lockstep(3, words("train --resume {} --run-dir auto --max-steps {}", run_directory, end));
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  const Outcome whole = lockstep(1, training + words("--max-steps {} --quiet", end));
  EXPECT_EQ(digest_of(resumed.out), digest_of(whole.out));
}

}  // namespace
}  // namespace lockstep::test
