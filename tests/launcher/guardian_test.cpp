#include "processes/guardian.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "core/process/process.h"
#include "processes/descendants.h"
#include "support/temporary_folder.h"

namespace lockstep::launcher {
namespace {

/// A shell command under a guardian, with its output.
class GuardianTest : public testing::Test {
 protected:
  void start(const std::string& command, const std::string& program = "/bin/sh") {
    guardian_.reset();
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    output_ = FileDescriptor(ends[0]);
    FileDescriptor input(ends[1]);
    const Job job{.name = "1a2b",
                  .places = {.temporary = folder_.path(), .shared_memory = folder_.path()},
                  .command = {program, "-c", command},
                  .environment = {"WORD=hello", "PATH=/usr/bin:/bin"}};
    guardian_ = std::make_unique<Guardian>(job, Streams{.in = 0, .out = input.get(), .err = input.get()},
                                           [this](int signal) { signals_.push_back(signal); });
  }

  /// The next line of the command's output.
  std::string line() const {
    std::string text;
    for (char c = 0; read(output_.get(), &c, 1) == 1 && c != '\n';) text += c;
    return text;
  }

  int wait() {
    std::optional<int> status;
    while (!(status = guardian_->status())) wait_for_news();
    return *status;
  }

  void wait_for_news() const {
    pollfd event{guardian_->descriptor(), POLLIN, 0};
    poll(&event, 1, -1);
  }

  static bool exists(const std::string& process) { return kill(std::stoi(process), 0) == 0; }

  const TemporaryFolder folder_;
  FileDescriptor output_;
  std::unique_ptr<Guardian> guardian_;
  std::vector<int> signals_;
};

constexpr const char* family =
    "sleep 1000 & echo $!; setsid sleep 1000 & echo $!; (sleep 1000 & echo $!); wait";

TEST_F(GuardianTest, PassesOnStatusEnvironmentAndOutput) {
  start("echo $WORD; exit 7");
  EXPECT_EQ(wait(), 7);
  EXPECT_EQ(line(), "hello");
  start("kill -SEGV $$");
  EXPECT_EQ(wait(), 128 + SIGSEGV);
  start("", "/no/such/program");
  EXPECT_EQ(wait(), 127);
  EXPECT_NE(line().find("/no/such/program: No such file"), std::string::npos);
}

/// The process limit leaves room only for the guardian; the user has no other processes.
TEST_F(GuardianTest, SaysThatTheCommandCannotBeStarted) {
  constexpr uid_t user = 54321;
  constexpr int not_root = 77;
  const auto start_as_user = [this]() noexcept {
    const rlimit limit{2, 2};
    if (setresuid(user, user, user) != 0) return not_root;
    if (setrlimit(RLIMIT_NPROC, &limit) != 0) return 1;
    start("exit 7");
    const int status = wait();
    const bool explained =
        line() == "lockstep-run: error: cannot start a process: Resource temporarily unavailable";
    guardian_.reset();
    return status == 4 && explained ? 0 : 1;
  };
  const pid_t child = fork();
  if (child == 0) _exit(start_as_user());
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (exit_status_of(status) == not_root) GTEST_SKIP() << "needs root, to become another user";
  EXPECT_EQ(status, 0);
}

TEST_F(GuardianTest, EndsAllThatTheCommandHasStarted) {
  for (const bool asked : {true, false}) {
    start(std::string(family) + (asked ? "" : " & exit 0"));
    const std::string processes[] = {line(), line(), line()};
    if (asked) guardian_->send(SIGKILL);
    EXPECT_EQ(wait(), asked ? 128 + SIGKILL : 0);
    for (const std::string& process : processes) EXPECT_FALSE(exists(process)) << process;
  }
}

TEST_F(GuardianTest, MayBeKilledItself) {
  start(family);
  const std::string processes[] = {line(), line(), line()};
  const std::vector<pid_t> children = children_of(getpid());
  ASSERT_EQ(children.size(), 1U);
  kill(children[0], SIGKILL);
  EXPECT_EQ(wait(), 128 + SIGKILL);
  for (const std::string& process : processes) EXPECT_FALSE(exists(process)) << process;
  guardian_.reset();
  EXPECT_EQ(folder_.names(), std::vector<std::string>{});
  EXPECT_EQ(children_of(getpid()), std::vector<pid_t>{});
}

TEST_F(GuardianTest, LeavesChildrenOfOthersAlone) {
  const pid_t other = fork();
  if (other == 0) {
    pause();
    _exit(0);
  }
  start("echo; sleep 1000");
  line();
  for (const pid_t child : children_of(getpid())) {
    if (child != other) kill(child, SIGKILL);
  }
  EXPECT_EQ(wait(), 128 + SIGKILL);
  EXPECT_EQ(children_of(getpid()), std::vector<pid_t>{other});
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
}

TEST_F(GuardianTest, ReachesTheCommandAlthoughBothAreStopped) {
  for (const int signal : {SIGUSR1, SIGKILL}) {
    start("trap 'exit 75' USR1; echo $$; while :; do sleep 0.01; done");
    const pid_t command = std::stoi(line());
    const std::vector<pid_t> guardian = children_of(getpid());
    ASSERT_EQ(guardian.size(), 1U);
    for (const pid_t process : {command, guardian[0]}) {
      kill(process, SIGSTOP);
      while (!status_of(process)->is_stopped()) usleep(1000);
    }
    guardian_->send(signal);
    EXPECT_EQ(wait(), signal == SIGUSR1 ? 75 : 128 + SIGKILL);
  }
}

/// A stopped guardian would not notice that the command has ended.
TEST_F(GuardianTest, IsContinuedIfItAloneIsStopped) {
  start("echo; sleep 0.1; exit 75");
  line();
  const std::vector<pid_t> guardian = children_of(getpid());
  ASSERT_EQ(guardian.size(), 1U);
  kill(guardian[0], SIGSTOP);
  while (!status_of(guardian[0])->is_stopped()) usleep(1000);
  while (!guardian_->continue_if_stopped()) usleep(10'000);
  EXPECT_EQ(wait(), 75);
}

/// mpirun would kill the ranks on these signals.
TEST_F(GuardianTest, ReportsSignalsThatWouldEndTheCommand) {
  start("echo $$; exec sleep 1000");  // dash would unblock the signals
  const pid_t command = std::stoi(line());
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) kill(command, signal);
  while (signals_.empty()) {
    wait_for_news();
    EXPECT_EQ(guardian_->status(), std::nullopt);
  }
  EXPECT_EQ(signals_, std::vector<int>{SIGTERM});
  guardian_->send(SIGUSR1);
  EXPECT_EQ(wait(), 128 + SIGUSR1);
}

TEST_F(GuardianTest, DoesNotReportSignalsThatAreIgnored) {
  const auto before = std::signal(SIGTERM, SIG_IGN);
  start("echo $$; exec sleep 1000");
  std::signal(SIGTERM, before);
  const pid_t command = std::stoi(line());
  for (const int signal : {SIGTERM, SIGXCPU}) kill(command, signal);
  while (signals_.empty()) {
    wait_for_news();
    EXPECT_EQ(guardian_->status(), std::nullopt);
  }
  EXPECT_EQ(signals_, std::vector<int>{SIGXCPU});
  guardian_->send(SIGKILL);
  EXPECT_EQ(wait(), 128 + SIGKILL);
}

/// Ranks would wait for a stopped mpirun when they end or when their output fills its pipes.
TEST_F(GuardianTest, ContinuesACommandThatIsStopped) {
  start("kill -STOP $$; exit 75");
  EXPECT_EQ(wait(), 75);
  EXPECT_EQ(signals_, std::vector<int>{SIGSTOP});
}

/// Open MPI's mpirun may hang like this when the ranks have ended.
TEST_F(GuardianTest, ACommandThatWaitsForNoneOfItsChildrenIsKilled) {
  start("sh -c 'exit 0' & sh -c 'kill -9 $$' & sh -c 'exit 75' & exec sleep 1000");
  EXPECT_EQ(wait(), 75);
  EXPECT_TRUE(guardian_->hung());
}

TEST(Descendants, ChildrenAreNeglectedFromTheirEndUntilTheyAreWaitedFor) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const FileDescriptor output(ends[0]);
  FileDescriptor input(ends[1]);
  const pid_t child = fork();
  if (child == 0) {
    input = {};
    char byte = 0;
    [[maybe_unused]] const ssize_t length = read(output.get(), &byte, 1);
    _exit(75);
  }
  EXPECT_TRUE(neglected_children_of(getpid()).empty());
  ASSERT_EQ(write(input.get(), "x", 1), 1);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(neglected_children_of(getpid()), std::vector<int>{75 << 8});
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(neglected_children_of(getpid()).empty());
}

}  // namespace
}  // namespace lockstep::launcher
