#include "support/failing_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "support/simulated_files.h"

namespace lockstep {
namespace {

/// Writes a file by five calls, stopping at one that fails; returns its errno.
int write_by_five_calls(FileSystem& files) {
  const int file = files.open("/a", O_WRONLY | O_CREAT);
  if (file < 0) return errno;
  const bool written = files.write(file, "x", 1) == 1 && files.fsync(file) == 0;
  const int reason = errno;
  if (files.close(file) != 0 && written) return errno;
  if (!written) return reason;
  return files.rename("/a", "/b") == 0 ? 0 : errno;
}

TEST(FailingFiles, PassesCallsOnAndCountsThem) {
  SimulatedFiles disk;
  FailingFiles files(disk, fail_call(6, EIO));
  EXPECT_EQ(write_by_five_calls(files), 0);
  EXPECT_EQ(files.calls(), 5U);
  EXPECT_EQ(disk.contents("/b"), "x");
}

TEST(FailingFiles, FailsTheCallOfThatNumber) {
  for (std::uint64_t number = 1; number <= 5; ++number) {
    SimulatedFiles disk;
    FailingFiles files(disk, fail_call(number, ENOSPC));
    EXPECT_EQ(write_by_five_calls(files), ENOSPC) << number;
    EXPECT_EQ(write_by_five_calls(files), 0) << number;
  }
}

TEST(FailingFiles, FailsAllLaterCalls) {
  SimulatedFiles disk;
  FailingFiles files(disk, fail_from_call(2, EIO));
  EXPECT_EQ(write_by_five_calls(files), EIO);
  EXPECT_EQ(write_by_five_calls(files), EIO);
  EXPECT_EQ(files.calls(), 4U) << "open, write, close; open";
}

TEST(FailingFiles, ACloseThatFailsCloses) {
  SimulatedFiles disk;
  FailingFiles files(disk, fail_call(2, EIO));
  const int file = files.open("/a", O_WRONLY | O_CREAT);
  EXPECT_EQ(files.close(file), -1);
  EXPECT_EQ(errno, EIO);
  EXPECT_EQ(disk.close(file), -1);
  EXPECT_EQ(errno, EBADF);
}

TEST(FailingFiles, SaysWhichCallOnWhichFile) {
  SimulatedFiles disk;
  std::vector<std::string> calls;
  FailingFiles files(disk, [&](const FileCall& call) {
    calls.push_back(call.name + " " + call.path.string() + (call.writes ? " w" : ""));
    return 0;
  });
  write_by_five_calls(files);
  FileStatus status;
  files.stat("/b", status);
  files.close(files.open("/b", O_RDONLY));
  EXPECT_EQ(calls, (std::vector<std::string>{"open /a w", "write /a w", "fsync /a w", "close /a w",
                                             "rename /a w", "stat /b", "open /b", "close /b w"}));
}

}  // namespace
}  // namespace lockstep
