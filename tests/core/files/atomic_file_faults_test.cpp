// AtomicFile on failing disks and crashing machines.
#include <gtest/gtest.h>

#include "core/files/atomic_file.h"
#include "core/files/folder.h"
#include "support/expect_error.h"
#include "support/test_files.h"

namespace lockstep {
namespace {

const std::string old_text(700, 'o');
const std::string new_text = std::string(1000, 'n') + std::string(1000, 'N');

void replace(bool read_back) {
  AtomicFile file("/m");
  file.write(std::as_bytes(std::span(new_text).first(1000)));
  file.write(std::as_bytes(std::span(new_text).subspan(1000)));
  EXPECT_EQ(file.size(), new_text.size());
  if (read_back) {
    file.verify_and_commit();
  } else {
    file.commit();
  }
}

TEST(AtomicFileFaults, ACrashLeavesTheOldFileOrTheNewOne) {
  for (const bool read_back : {false, true}) {
    TestFiles disk;
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
    fail_everywhere(
        reason, [](TestFiles& disk) { disk.put("/m", old_text); }, [] { replace(true); },
        [](TestFiles& disk, const std::string& failed, const std::string& error) {
          const std::string found = disk.contents("/m");
          const bool in_folder = failed.ends_with(" /");
          EXPECT_TRUE(found == new_text || (!error.empty() && found == old_text));
          EXPECT_TRUE(error.empty() || (error.starts_with("/") && (in_folder || found == old_text)));
          // A failing close is harmless because the file is already synced; a new file can be written even if
          // leftovers cannot be removed.
          const bool harmless = failed == "list /" || failed.starts_with("lock") ||
                                (failed.starts_with("stat") && failed.ends_with(".tmp"));
          EXPECT_EQ(error.empty(), harmless || (failed.starts_with("close") && found == new_text)) << failed;
          EXPECT_EQ(list_folder("/"), std::vector<std::string>{"m"});
        });
  }
}

TEST(AtomicFileFaults, ReadingBackFindsADiskThatReturnsOtherBytes) {
  TestFiles disk;
  disk.put("/m", old_text);
  disk.flip_bits(true);
  const ScopedFiles replaced(disk);
  expect_error(
      Category::resource,
      {"/m: the disk returns other bytes than were written: check the disk, or write to another one"},
      [] { replace(true); });
  EXPECT_EQ(disk.contents("/m"), old_text);
  replace(false);
  EXPECT_EQ(disk.contents("/m"), new_text);
}

TEST(AtomicFileFaults, InterruptedAndShortWritesAreCompleted) {
  class Interrupting : public TestFiles {
   public:
    explicit Interrupting(FileSystem& inner)
        : TestFiles(inner, [](const FileCall& call) {
            return call.number % 2 == 0 && call.name != "rename" && call.name != "stat" ? EINTR : 0;
          }) {}
    ssize_t write(int descriptor, const void* data, std::size_t bytes) override {
      return TestFiles::write(descriptor, data, std::min<std::size_t>(bytes, 100));
    }
    ssize_t pread(int descriptor, void* data, std::size_t bytes, std::uint64_t offset) override {
      return TestFiles::pread(descriptor, data, std::min<std::size_t>(bytes, 100), offset);
    }
  };
  TestFiles disk;
  Interrupting interrupting(disk);
  const ScopedFiles replaced(interrupting);
  replace(true);
  EXPECT_EQ(disk.contents("/m"), new_text);
}

TEST(AtomicFileFaults, AReaderSeesTheOldOrTheNewFile) {
  TestFiles disk;
  disk.put("/a", "old");
  TestFiles files(disk, [&disk](const FileCall& call) {
    if (call.name == "open") disk.put("/a", "new and longer");
    return 0;
  });
  const ScopedFiles replaced(files);
  EXPECT_EQ(read_text("/a", 100), "new and longer");
}

}  // namespace
}  // namespace lockstep
