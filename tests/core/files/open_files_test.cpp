#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "core/files/file.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace lockstep {
namespace {

/// Text that `work` returns in a child process that has these limits and, in addition to the standard
/// streams, ten open files.
std::string with_limits(rlim_t soft, rlim_t hard, const std::function<std::string()>& work) {
  const TemporaryFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    for (int file = 3; file < 1024; ++file) close(file);
    for (int file = 0; file < 10; ++file) open("/dev/null", O_RDONLY);
    const rlimit limit{soft, hard};
    const std::string text = setrlimit(RLIMIT_NOFILE, &limit) == 0 ? work() : "no limit";
    folder.write("text", text);
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return contents(folder / "text");
}

/// Category and message of the error; without an error, the soft limit afterwards.
std::string outcome_of_reserving(std::size_t more) {
  const auto error = error_of([&] { reserve_open_files(more, "the run"); });
  if (error) return std::to_string(error->exit_status()) + ": " + error->what();
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return std::to_string(limit.rlim_cur);
}

TEST(OpenFiles, TheSoftLimitIsRaisedAsFarAsNeeded) {
  EXPECT_EQ(with_limits(64, 256, [] { return outcome_of_reserving(19); }), "64");
  EXPECT_EQ(with_limits(64, 256, [] { return outcome_of_reserving(20); }), "65") << "with 32 to spare";
  EXPECT_EQ(with_limits(64, 256, [] { return outcome_of_reserving(243); }), "256");
}

TEST(OpenFiles, TheSoftLimitIsRaisedWhenItIsReached) {
  const auto reserve_when_all_are_open = [] {
    while (open("/dev/null", O_RDONLY) >= 0) {
    }
    return outcome_of_reserving(80);
  };
  EXPECT_EQ(with_limits(64, 256, reserve_when_all_are_open), "176");
}

TEST(OpenFiles, BeyondTheHardLimitIsAnErrorWithTheNumbers) {
  EXPECT_EQ(
      with_limits(64, 256, [] { return outcome_of_reserving(244); }),
      "4: the run needs 257 open files, of which this process has 13, but it may have only 256: allow more "
      "(ulimit -n 257; docker run --ulimit nofile=257)");
}

}  // namespace
}  // namespace lockstep
