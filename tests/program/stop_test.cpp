// Signals and time limits end a run on all ranks, with status 75 and a line that says why.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <regex>

#include "support/started.h"

namespace lockstep::test {
namespace {

/// A run that ends by a signal only, with an epoch line each few milliseconds.
const std::vector<std::string> endless = {"train",      "--dataset",
                                          "synthetic",  "--synthetic-shape",
                                          "1x28x28",    "--samples",
                                          "96",         "--epochs",
                                          "1000000000", "--lr",
                                          "0",          "--batch-size",
                                          "32",         "--device",
                                          "cpu",        "--model",
                                          "mlp:8",      "--micro-batches",
                                          "4"};

std::vector<std::string> endless_with(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = endless;
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

void expect_stopped(const Outcome& outcome, const std::string& reason) {
  EXPECT_EQ(outcome.status, 75) << outcome.err;
  EXPECT_EQ(count(outcome.err, "lockstep: stopped by "), 1) << outcome.err;
  const std::regex line("lockstep: stopped by " + reason + " at step \\d+; ");
  EXPECT_TRUE(std::regex_search(outcome.err, line)) << outcome.err;
  EXPECT_EQ(outcome.err.find("lockstep: error"), std::string::npos) << outcome.err;
}

/// Time that mpirun gives the other ranks when one has ended with status 75; its default, in seconds.
const std::vector<std::string> usual_grace = {"OMPI_MCA_odls_base_sigkill_timeout=1"};

TEST(Stop, SignalsEndARunOfOneProcess) {
  for (const auto& [number, name] :
       {std::pair(SIGTERM, "SIGTERM"), std::pair(SIGINT, "SIGINT"), std::pair(SIGUSR1, "SIGUSR1")}) {
    Started run(lockstep_command(0, endless));
    run.await_line("epoch 1/");
    kill(run.process(), number);
    expect_stopped(run.wait(10.0), name);
  }
}

TEST(Stop, ARequestForACheckpointIsAnsweredWhereNoneIsKept) {
  Started run(lockstep_command(0, endless));
  run.await_line("epoch 1/");
  kill(run.process(), SIGUSR2);
  run.await_line("epoch 1000/");  // more lines than a pipe holds
  kill(run.process(), SIGUSR1);
  const Outcome outcome = run.wait(10.0);
  expect_stopped(outcome, "SIGUSR1");
  EXPECT_EQ(count(outcome.err, "SIGUSR2: no checkpoint is written"), 1) << outcome.err;
}

TEST(Stop, ASignalToOneRankEndsAll) {
  for (const std::size_t rank : {0U, 1U, 2U}) {
    Started run(lockstep_command(3, endless), usual_grace);
    run.await_line("epoch 1/");
    const std::vector<pid_t> ranks = run.processes_of(LOCKSTEP_PROGRAM);
    ASSERT_EQ(ranks.size(), 3U);
    kill(ranks[rank], SIGTERM);
    expect_stopped(run.wait(10.0), "SIGTERM to rank " + std::to_string(rank));
  }
}

TEST(Stop, MpirunForwardsUserSignals) {
  Started run(lockstep_command(2, endless), usual_grace);
  run.await_line("epoch 1/");
  kill(run.process(), SIGUSR1);
  expect_stopped(run.wait(10.0), "SIGUSR1");
}

/// mpirun answers SIGTERM with SIGTERM to the ranks after a time, and SIGKILL after the same time again; its
/// status is 1. Nothing reads the ranks' output meanwhile.
TEST(Stop, MpirunGivesTheRanksTimeWhereAsked) {
  const TemporaryFolder folder;
  Started run(lockstep_command(2, endless_with({"--quiet", "--run-dir", (folder / "run").string()}),
                               {"--mca", "odls_base_sigkill_timeout", "2"}));
  while (contents(folder / "run/metrics.jsonl").empty()) {
  }
  kill(run.process(), SIGTERM);
  const Outcome outcome = run.wait(20.0);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("lockstep: stopped by SIGTERM at step "), std::string::npos) << outcome.err;
}

/// Whether a process handles SIGTERM.
bool handles_termination(pid_t process) {
  const std::string status = contents("/proc/" + std::to_string(process) + "/status");
  const std::size_t at = status.find("SigCgt:");
  return at != std::string::npos &&
         ((std::stoull(status.substr(at + 7), nullptr, 16) >> (SIGTERM - 1)) & 1) != 0;
}

/// mpirun ends the other ranks with SIGTERM, and SIGKILL a second later unless told otherwise.
TEST(Stop, ASignalBeforeTheFirstStepEndsAllAtOnce) {
  const TemporaryFolder folder;
  const std::string config = (folder / "config").string();
  ASSERT_EQ(mkfifo(config.c_str(), 0600), 0);  // start-up waits for its other end
  for (const std::size_t ranks : {0U, 2U}) {
    Started run(lockstep_command(static_cast<int>(ranks), {"train", "--config", config},
                                 {"--mca", "odls_base_sigkill_timeout", "1"}));
    std::vector<pid_t> processes;
    do {
      processes = run.processes_of(LOCKSTEP_PROGRAM);
    } while (processes.size() < std::max<std::size_t>(1, ranks) ||
             !std::ranges::all_of(processes, handles_termination));
    kill(processes.back(), SIGTERM);
    const Outcome outcome = run.wait(20.0);
    EXPECT_EQ(outcome.status, 75) << outcome.err;
    EXPECT_EQ(count(outcome.err, "lockstep: stopped by SIGTERM before the first step"), 1) << outcome.err;
  }
}

/// A second run in the folder of a run would destroy its record and its checkpoints.
TEST(Stop, OneRunAtATimeInARunDirectory) {
  const TemporaryFolder folder;
  const std::string directory = (folder / "run").string();
  const std::vector<std::string> arguments = endless_with({"--run-dir", directory, "--resume", "auto"});
  std::vector<std::string> more = arguments;
  more.insert(more.end(), {"--max-time", "1s"});
  {
    Started first(lockstep_command(0, arguments));
    first.await_line("epoch 1/");
    const Outcome second = lockstep(0, more);
    EXPECT_EQ(second.status, 4) << second.err;  // unlike wrong usage, later it works
    const std::string holder = "/run is in use by process " + std::to_string(first.process()) + " on host ";
    EXPECT_EQ(count(second.err, "lockstep: error: "), 1) << second.err;
    EXPECT_NE(second.err.find(holder), std::string::npos) << second.err;
    first.await_line("epoch ");  // it goes on
    // A restart waits longer: the lock of a host that died may be kept for a while.
    std::vector<std::string> restart = {"sh", "-c", "exec \"$@\" 2>&1", "sh", LOCKSTEP_PROGRAM};
    restart.insert(restart.end(), arguments.begin(), arguments.end());
    Started waiting(restart, {"LOCKSTEP_SECONDS_BEFORE=0.1"});
    waiting.await_line("lockstep: warning: " + directory + " is in use by ");
    kill(first.process(), SIGKILL);
    first.wait(10.0);
    waiting.await_line("epoch ");
    kill(waiting.process(), SIGKILL);
    waiting.wait(10.0);
  }
  EXPECT_TRUE(std::filesystem::exists(folder / "run/lock"));  // the file of a killed run is in nobody's way
  expect_stopped(lockstep(0, more), "the time limit of 1s");
  EXPECT_FALSE(std::filesystem::exists(folder / "run/lock"));
}

/// The run is stopped somewhere in its epochs of three steps, and in their evaluations.
TEST(Stop, AStoppedRunGoesOnWithTheSameResult) {
  const TemporaryFolder folder;
  const std::string run_directory = (folder / "run").string();
  const std::vector<std::string> training = {
      "train", "--dataset", "synthetic",  "--synthetic-shape", "1x28x28", "--samples",
      "96",    "--epochs",  "1000000000", "--batch-size",      "32",      "--device",
      "cpu",   "--model",   "mlp:8",      "--micro-batches",   "4"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = training;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  Started run(lockstep_command(2, with({"--run-dir", run_directory})), usual_grace);
  run.await_line("epoch 2/");
  kill(run.processes_of(LOCKSTEP_PROGRAM).back(), SIGUSR1);
  const Outcome stopped = run.wait(20.0);
  expect_stopped(stopped, "SIGUSR1 to rank 1");
  const std::string resume = "resume with: lockstep train --resume ";
  const std::size_t at = stopped.err.find(resume);
  ASSERT_NE(at, std::string::npos) << stopped.err;
  const std::string place =
      stopped.err.substr(at + resume.size(), stopped.err.find('\n', at) - at - resume.size());
  EXPECT_EQ(place, run_directory);
  const std::size_t step_at = stopped.err.find(" at step ") + 9;
  const std::string end = std::to_string(std::stoull(stopped.err.substr(step_at)) + 10);
  const Outcome resumed = lockstep(3, {"train", "--resume", place, "--run-dir", "auto", "--max-steps", end});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  const Outcome whole = lockstep(1, with({"--max-steps", end, "--quiet"}));
  EXPECT_EQ(digest_of(resumed.out), digest_of(whole.out));
}

TEST(Stop, TimeLimitEndsTheRunBeforeIt) {
  const auto start = std::chrono::steady_clock::now();
  Started run(lockstep_command(2, endless_with({"--max-time", "2s"})), usual_grace);
  expect_stopped(run.wait(20.0), "the time limit of 2s");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));  // a busy machine
}

/// lockstep-run starts it again after a failure.
TEST(Stop, ARestartForWhichNoTimeIsLeftEndsAtOnce) {
  const TemporaryFolder folder;
  const std::string directory = (folder / "run").string();
  const Outcome outcome = run({LOCKSTEP_PROGRAM, "train", "--dataset", "synthetic", "--max-time", "3h50m",
                               "--run-dir", directory, "--resume", "auto"},
                              {"LOCKSTEP_SECONDS_BEFORE=13799.5"});
  EXPECT_EQ(outcome.status, 75) << outcome.err;
  EXPECT_EQ(outcome.err,
            "lockstep: stopped before the first step: of the time limit of 3h50m, earlier starts have taken "
            "3h49m59s; start again\n");
  EXPECT_FALSE(std::filesystem::exists(directory));
}

/// The reader of a job's output may be gone when it is stopped.
TEST(Stop, StatusIsThatOfTheStopWhereNothingCanBePrinted) {
  std::vector<std::string> command = {"sh", "-c", "exec '" LOCKSTEP_PROGRAM "' \"$@\" >/dev/full 2>&1", "sh"};
  for (const std::string& argument : endless_with({"--max-time", "1s"})) command.push_back(argument);
  EXPECT_EQ(run(command).status, 75);
}

}  // namespace
}  // namespace lockstep::test
