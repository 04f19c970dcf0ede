// AtomicFile on disks that fail, and on machines that crash.
#include <gtest/gtest.h>

#include "core/files/atomic_file.h"
#include "core/files/folder.h"
#include "support/crashes.h"
#include "support/expect_error.h"
#include "support/failing_files.h"

namespace lockstep {
namespace {

const std::string old_text(700, 'o');
const std::string new_text = std::string(1000, 'n') + std::string(1000, 'N');

void replace(bool read_back) {
  AtomicFile file("/m");
  file.write(std::as_bytes(std::span(new_text).first(1000)));
  file.write(std::as_bytes(std::span(new_text).subspan(1000)));
  EXPECT_EQ(file.size(), new_text.size());
  file.commit({.read_back = read_back});
}

TEST(AtomicFileFaults, ACrashLeavesTheOldFileOrTheNewOne) {
  for (const bool read_back : {false, true}) {
    SimulatedFiles disk;
    disk.put("/m", old_text);
    bool replaced = false;
    const std::uint64_t crashes = crash_everywhere(
        disk, 200,
        [&] {
          replace(read_back);
          replaced = true;
        },
        [&] {
          const std::string found = read_text("/m", 10000);
          EXPECT_TRUE(found == new_text || (!replaced && found == old_text));
        });
    EXPECT_GT(crashes, 1000U);
  }
}

TEST(AtomicFileFaults, ACallThatFailsIsReportedAndLeavesTheOldFileOrTheNewOne) {
  for (const int reason : {EIO, ENOSPC}) {
    for (std::uint64_t number = 1, calls = 1; number <= calls; ++number) {
      SimulatedFiles disk;
      disk.put("/m", old_text);
      std::string failed;
      FailingFiles failing(disk, [&](const FileCall& call) {
        if (call.number != number) return 0;
        failed = call.name + " " + call.path.string();
        return reason;
      });
      const ScopedFiles replaced(failing);
      bool error = false;
      try {
        replace(true);
      } catch (const Error& thrown) {
        error = true;
        const std::string message = thrown.what();
        EXPECT_EQ(thrown.category(), Category::resource) << message;
        EXPECT_NE(message.find(std::generic_category().message(reason)), std::string::npos) << message;
        EXPECT_TRUE(message.starts_with("/")) << message;
      }
      calls = failing.calls();
      const std::string found = disk.contents("/m");
      const bool in_folder = failed.ends_with(" /");
      EXPECT_TRUE(found == new_text || (error && found == old_text)) << failed;
      EXPECT_TRUE(!error || in_folder || found == old_text) << failed;
      // Closing what was only read cannot lose anything.
      EXPECT_EQ(error, !(failed == "close /" || (failed.starts_with("close") && found == new_text)))
          << failed;
      EXPECT_EQ(list_folder("/"), std::vector<std::string>{"m"}) << failed;
    }
  }
}

/// Flips a bit of what it reads.
class LyingDisk : public FailingFiles {
 public:
  explicit LyingDisk(FileSystem& inner) : FailingFiles(inner, [](const FileCall&) { return 0; }) {}
  ssize_t pread(int descriptor, void* data, std::size_t bytes, std::uint64_t offset) override {
    const ssize_t count = FailingFiles::pread(descriptor, data, bytes, offset);
    if (count > 0) static_cast<char*>(data)[count - 1] ^= 1;
    return count;
  }
};

TEST(AtomicFileFaults, ReadingBackFindsADiskThatReturnsOtherBytes) {
  SimulatedFiles disk;
  disk.put("/m", old_text);
  LyingDisk lying(disk);
  const ScopedFiles replaced(lying);
  expect_error(
      Category::resource,
      {"/m: the disk returns other bytes than were written: check the disk, or write to another one"},
      [] { replace(true); });
  EXPECT_EQ(disk.contents("/m"), old_text);
  replace(false);
  EXPECT_EQ(disk.contents("/m"), new_text);
}

TEST(AtomicFileFaults, WritesGoOnAfterInterruptionsAndShortWrites) {
  class Interrupting : public FailingFiles {
   public:
    explicit Interrupting(FileSystem& inner)
        : FailingFiles(inner, [](const FileCall& call) {
            return call.number % 2 == 0 && call.name != "open" && call.name != "rename" && call.name != "stat"
                       ? EINTR
                       : 0;
          }) {}
    ssize_t write(int descriptor, const void* data, std::size_t bytes) override {
      return FailingFiles::write(descriptor, data, std::min<std::size_t>(bytes, 100));
    }
    ssize_t pread(int descriptor, void* data, std::size_t bytes, std::uint64_t offset) override {
      return FailingFiles::pread(descriptor, data, std::min<std::size_t>(bytes, 100), offset);
    }
  };
  SimulatedFiles disk;
  Interrupting interrupting(disk);
  const ScopedFiles replaced(interrupting);
  replace(true);
  EXPECT_EQ(disk.contents("/m"), new_text);
}

}  // namespace
}  // namespace lockstep
