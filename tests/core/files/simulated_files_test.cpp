#include "support/simulated_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <set>

#include "support/temporary_folder.h"

namespace lockstep {
namespace {

/// Results of one series of calls in `folder`: numbers, or the negative errno of calls that fail.
std::vector<long> results_of_many_calls(FileSystem& system, const std::filesystem::path& folder) {
  std::vector<long> results;
  const auto note = [&](long result) {
    results.push_back(result < 0 ? -errno : result);
    return static_cast<int>(result);
  };
  const auto opens = [&](const std::string& name, int flags) {
    const int descriptor = system.open(folder / name, flags);
    note(descriptor < 0 ? -1 : 0);
    return descriptor;
  };
  const auto size_of = [&](const std::string& name) {
    FileStatus status;
    return system.stat(folder / name, status) != 0 ? -1
           : status.kind == FileKind::folder       ? 1000000L
                                                   : static_cast<long>(status.size);
  };
  char text[16] = {};

  const int file = opens("a", O_RDWR | O_CREAT | O_EXCL);
  note(system.write(file, "hello", 5));
  note(system.write(file, "world", 5));
  note(size_of("a"));
  note(system.pread(file, text, 4, 3));
  note(text[0]);
  note(system.pread(file, text, 4, 8));
  note(system.pread(file, text, 4, 10));
  note(system.ftruncate(file, 7));
  note(size_of("a"));
  note(system.write(file, "!", 1));  // leaves a hole
  note(system.pread(file, text, 16, 0));
  note(text[8]);
  note(system.fsync(file));
  note(system.close(file));
  note(system.close(file));
  note(system.write(file, "x", 1));

  opens("a", O_WRONLY | O_CREAT | O_EXCL);
  opens("none", O_RDONLY);
  opens("none/a", O_RDONLY | O_CREAT);
  opens("a/b", O_RDONLY | O_CREAT);
  opens("a", O_RDONLY | O_DIRECTORY);
  opens(".", O_WRONLY);
  const int read_only = opens("a", O_RDONLY);
  note(system.write(read_only, "x", 1));
  note(system.read(read_only, text, 3));
  note(system.read(read_only, text, 16));
  note(system.read(read_only, text, 16));
  note(system.close(read_only));
  const int append = opens("a", O_WRONLY | O_APPEND);
  note(system.read(append, text, 1));
  note(system.write(append, "end", 3));
  note(system.close(append));
  note(size_of("a"));
  note(system.close(opens("a", O_WRONLY | O_TRUNC)));
  note(size_of("a"));

  note(system.mkdir(folder / "f"));
  note(system.mkdir(folder / "f"));
  note(system.mkdir(folder / "a"));
  note(system.mkdir(folder / "none/f"));
  note(size_of("f"));
  note(system.rename(folder / "a", folder / "f/b"));
  note(size_of("a"));
  note(size_of("f/b"));
  note(system.rename(folder / "a", folder / "b"));
  note(system.mkdir(folder / "g"));
  note(system.rename(folder / "f/b", folder / "g"));
  note(system.rename(folder / "g", folder / "f/b"));
  note(system.rename(folder / "g", folder / "f"));
  note(system.rename(folder / "f", folder / "g"));
  note(size_of("g/b"));
  note(system.unlink(folder / "g"));
  note(system.rmdir(folder / "g"));
  note(system.rmdir(folder / "g/b"));
  note(system.unlink(folder / "g/none"));
  std::vector<std::string> names;
  note(system.list(folder / "g", names));
  note(static_cast<long>(names.size()));
  note(system.list(folder / "g/b", names));
  note(system.list(folder / "none", names));
  note(system.unlink(folder / "g/b"));
  note(system.rmdir(folder / "g"));
  note(size_of("g"));
  const int itself = opens(".", O_RDONLY | O_DIRECTORY);
  note(system.fsync(itself));
  note(system.read(itself, text, 1));
  note(system.close(itself));
  return results;
}

TEST(SimulatedFiles, AnswersAsTheSystemDoes) {
  const TemporaryFolder folder;
  SimulatedFiles disk;
  disk.mkdir("/f");
  const std::vector<long> expected = results_of_many_calls(system_files(), folder.path());
  const std::vector<long> found = results_of_many_calls(disk, "/f");
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(found[i], expected[i]) << "result " << i;
}

/// The different states of `path` after crashes: contents, or "none".
std::set<std::string> states_after_crashes(SimulatedFiles& disk, const std::string& path) {
  std::set<std::string> states;
  for (std::uint64_t choice = 0; choice < 500; ++choice) {
    const auto after = disk.crash(choice);
    FileStatus status;
    states.insert(after->stat(path, status) == 0 ? after->contents(path) : "none");
  }
  return states;
}

using States = std::set<std::string>;

int open_new(SimulatedFiles& disk, const std::string& path, std::string_view text) {
  const int file = disk.open(path, O_WRONLY | O_CREAT);
  EXPECT_EQ(disk.write(file, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  return file;
}

void sync(SimulatedFiles& disk, const std::string& path) {
  const int file = disk.open(path, O_RDONLY);
  EXPECT_EQ(disk.fsync(file), 0);
  disk.close(file);
}

TEST(SimulatedFiles, KeepDataFromFsyncOfTheFileAndNamesFromFsyncOfTheFolder) {
  SimulatedFiles disk;
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

TEST(SimulatedFiles, NamesAreKeptWithoutTheirData) {
  SimulatedFiles disk;
  open_new(disk, "/a", "text");
  sync(disk, "/");
  EXPECT_EQ(states_after_crashes(disk, "/a"), (States{"", std::string(4, '\0'), "text"}));
}

TEST(SimulatedFiles, ARenameIsKeptAsAWhole) {
  SimulatedFiles disk;
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

TEST(SimulatedFiles, FoldersAreLostWithWhatTheyContain) {
  SimulatedFiles disk;
  disk.mkdir("/f");
  disk.fsync(open_new(disk, "/f/a", "text"));
  sync(disk, "/f");
  EXPECT_EQ(states_after_crashes(disk, "/f/a"), (States{"none", "text"}));
  sync(disk, "/");
  EXPECT_EQ(states_after_crashes(disk, "/f/a"), (States{"text"}));
}

TEST(SimulatedFiles, WritesAreTornAt512Bytes) {
  SimulatedFiles disk;
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

TEST(SimulatedFiles, HaveRoomForSoManyBytes) {
  SimulatedFiles disk;
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
