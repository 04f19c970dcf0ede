#include "support/test_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <set>

namespace lockstep {
namespace {

/// The different states of `path` after crashes: its contents, or "none".
std::set<std::string> states_after_crashes(TestFiles& disk, const std::string& path) {
  std::set<std::string> states;
  for (std::uint64_t choice = 0; choice < 500; ++choice) {
    const auto after = disk.crash(choice);
    FileStatus status;
    states.insert(after->stat(path, status) == 0 ? after->contents(path) : "none");
  }
  return states;
}

using States = std::set<std::string>;

int open_new(TestFiles& disk, const std::string& path, std::string_view text) {
  const int file = disk.open(path, O_WRONLY | O_CREAT);
  EXPECT_EQ(disk.write(file, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  return file;
}

void sync(TestFiles& disk, const std::string& path) {
  const int file = disk.open(path, O_RDONLY);
  EXPECT_EQ(disk.fsync(file), 0);
  disk.close(file);
}

TEST(TestFiles, KeepDataFromFsyncOfTheFileAndNamesFromFsyncOfTheFolder) {
  TestFiles disk;
  const int file = open_new(disk, "/a", "text");
  EXPECT_EQ(states_after_crashes(disk, "/a"), (States{"none", "", std::string(4, '\0'), "text"}));
  disk.fsync(file);
  EXPECT_EQ(states_after_crashes(disk, "/a"), (States{"none", "text"}));
  sync(disk, "/");
  EXPECT_EQ(states_after_crashes(disk, "/a"), (States{"text"}));
  EXPECT_EQ(disk.unsynced(), 0U);
  disk.unlink("/a");
  EXPECT_EQ(states_after_crashes(disk, "/a"), (States{"none", "text"}));
  sync(disk, "/");
  EXPECT_EQ(states_after_crashes(disk, "/a"), (States{"none"}));
}

TEST(TestFiles, NamesAreKeptWithoutTheirData) {
  TestFiles disk;
  open_new(disk, "/a", "text");
  sync(disk, "/");
  EXPECT_EQ(states_after_crashes(disk, "/a"), (States{"", std::string(4, '\0'), "text"}));
}

TEST(TestFiles, ARenameIsKeptAsAWhole) {
  TestFiles disk;
  disk.put("/a", "old");
  const int file = open_new(disk, "/b", "new");
  disk.fsync(file);
  disk.rename("/b", "/a");
  EXPECT_EQ(states_after_crashes(disk, "/a"), (States{"old", "new"}));
  EXPECT_EQ(states_after_crashes(disk, "/b"), (States{"none", "new"}));
  sync(disk, "/");
  EXPECT_EQ(states_after_crashes(disk, "/a"), (States{"new"}));
  EXPECT_EQ(states_after_crashes(disk, "/b"), (States{"none"}));
}

TEST(TestFiles, FoldersAreLostWithWhatTheyContain) {
  TestFiles disk;
  disk.mkdir("/f");
  disk.fsync(open_new(disk, "/f/a", "text"));
  sync(disk, "/f");
  EXPECT_EQ(states_after_crashes(disk, "/f/a"), (States{"none", "text"}));
  sync(disk, "/");
  EXPECT_EQ(states_after_crashes(disk, "/f/a"), (States{"text"}));
}

TEST(TestFiles, WritesAreTornAt512Bytes) {
  TestFiles disk;
  disk.put("/a", std::string(1500, 'o'));
  const int file = disk.open("/a", O_WRONLY);
  disk.write(file, std::string(1400, 'n').data(), 1400);
  std::set<std::string> states;
  for (const std::string& text : states_after_crashes(disk, "/a")) {
    ASSERT_EQ(text.size(), 1500U);
    EXPECT_EQ(text, std::string(512, text[0]) + std::string(512, text[512]) + std::string(376, text[1024]) +
                        std::string(100, 'o'));
    states.insert({text[0], text[512], text[1024]});
  }
  EXPECT_EQ(states.size(), 8U);
}

TEST(TestFiles, HaveRoomForSoManyBytes) {
  TestFiles disk;
  disk.put("/a", "12345");
  disk.limit(8);
  const int file = disk.open("/a", O_WRONLY | O_APPEND);
  EXPECT_EQ(disk.write(file, "6789", 4), 3);
  EXPECT_EQ(disk.write(file, "9", 1), -1);
  EXPECT_EQ(errno, ENOSPC);
  EXPECT_EQ(disk.contents("/a"), "12345678");
  EXPECT_EQ(disk.used(), 8U);
  disk.unlink("/a");
  EXPECT_EQ(disk.used(), 8U);
  disk.close(file);
  EXPECT_EQ(disk.used(), 0U);
}

}  // namespace
}  // namespace lockstep
