#include "core/files/folder.h"

#include <gtest/gtest.h>

#include "core/files/atomic_file.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"
#include "support/test_files.h"

namespace lockstep {
namespace {

using Names = std::vector<std::string>;

TEST(Folder, IsMadeWithItsParents) {
  const TemporaryFolder folder;
  make_folder(folder / "a/b/c/");
  make_folder(folder / "a/b");
  EXPECT_EQ(file_kind(folder / "a/b/c"), FileKind::folder);
  EXPECT_EQ(list_folder(folder / "a"), Names{"b"});
  const auto file = folder.write("file", "");
  expect_error(Category::resource, {(file / "x").string() + ": cannot create the folder: Not a directory"},
               [&] { make_folder(file / "x"); });
  expect_error(Category::resource, {file.string() + ": cannot create the folder: File exists"},
               [&] { make_folder(file); });
}

TEST(Folder, SurvivesACrashOnceItIsMade) {
  TestFiles disk;
  bool made = false;
  crash_everywhere(
      disk, 20,
      [&] {
        make_folder("/a/b");
        made = true;
      },
      [&] {
        if (made) {
          EXPECT_EQ(file_kind("/a/b"), FileKind::folder);
        }
      });
}

TEST(Folder, SurvivesACrashOnceItIsMadeAtASecondAttempt) {
  fail_everywhere(
      EIO, [](TestFiles&) {}, [] { make_folder("/a/b"); },
      [](TestFiles& disk, const std::string&, const std::string&) {
        make_folder("/a/b");
        const auto after = disk.crash(0);
        const ScopedFiles replaced(*after);
        EXPECT_EQ(file_kind("/a/b"), FileKind::folder);
      });
}

TEST(Folder, TemporaryOnesAreBesideIt) {
  const TemporaryFolder folder;
  const auto one = make_temporary_folder(folder / "step-1");
  const auto other = make_temporary_folder(folder / "step-1/");
  EXPECT_NE(one, other);
  EXPECT_EQ(list_folder(folder.path()).size(), 2U);
  for (const auto& path : {one, other}) {
    EXPECT_TRUE(path.filename().string().starts_with("step-1.")) << path;
    EXPECT_EQ(path.extension(), ".tmp");
    EXPECT_EQ(file_kind(path), FileKind::folder);
  }
  expect_error(Category::resource, {"/no/such: cannot create a folder beside it: No such file or directory"},
               [] { make_temporary_folder("/no/such"); });
}

TEST(Folder, ListsNamesInOrder) {
  const TemporaryFolder folder;
  for (const char* name : {"b", "a", ".c"}) folder.write(name, "");
  EXPECT_EQ(list_folder(folder.path()), (Names{".c", "a", "b"}));
  expect_error(Category::data, {"/no/such: cannot list: No such file or directory"},
               [] { list_folder("/no/such"); });
  TestFiles disk;
  disk.fail(fail_call(1, EIO));
  const ScopedFiles replaced(disk);
  expect_error(Category::resource, {"/: cannot list: Input/output error"}, [] { list_folder("/"); });
}

TEST(Folder, IsRenamed) {
  const TemporaryFolder folder;
  make_folder(folder / "a");
  make_folder(folder / "b/x");
  rename_folder(folder / "b", folder / "a");
  EXPECT_EQ(folder.names(), Names{"a"});
  make_folder(folder / "b");
  expect_error(Category::resource, {(folder / "b").string() + ": cannot rename to a: Directory not empty"},
               [&] { rename_folder(folder / "b", folder / "a"); });
}

TEST(Folder, HasItsNewNameAfterACrash) {
  TestFiles disk;
  disk.mkdir("/a");
  disk.put("/a/file", "text");
  bool renamed = false;
  crash_everywhere(
      disk, 20,
      [&] {
        rename_folder("/a", "/b");
        renamed = true;
      },
      [&] {
        if (renamed || file_kind("/b") != FileKind::missing) {
          EXPECT_EQ(file_kind("/a"), FileKind::missing);
          EXPECT_EQ(read_text("/b/file", 100), "text");
        } else {
          EXPECT_EQ(read_text("/a/file", 100), "text");
        }
      });
}

TEST(Folder, IsRemovedWithItsContents) {
  const TemporaryFolder folder, other;
  other.write("precious", "kept");
  make_folder(folder / "a/b/c");
  folder.write("a/b/file", "");
  std::filesystem::create_symlink(other.path(), folder / "a/link");
  remove_folder(folder / "a");
  EXPECT_EQ(folder.names(), Names{});
  EXPECT_EQ(other.names(), Names{"precious"});
  remove_folder(folder / "a");
  folder.write("file", "");
  remove_folder(folder / "file");
  EXPECT_EQ(folder.names(), Names{});
}

TEST(Folder, ParentsOfPaths) {
  EXPECT_EQ(folder_of("a/b"), "a");
  EXPECT_EQ(folder_of("a/b/"), "a");
  EXPECT_EQ(folder_of("a"), ".");
  EXPECT_EQ(folder_of("/a"), "/");
  EXPECT_EQ(folder_of("/"), "/");
}

/// Makes a folder of two files, gives it its name, and removes the one before.
void replace_folder() {
  make_folder("/run/checkpoints");
  const auto temporary = make_temporary_folder("/run/checkpoints/2");
  write_text_file(temporary / "x", "x2");
  write_text_file(temporary / "y", "y2");
  rename_folder(temporary, "/run/checkpoints/2");
  remove_folder("/run/checkpoints/1");
}

/// Whether one of the folders is whole.
bool some_folder_is_whole() {
  const auto holds = [](const std::string& file, const std::string& text) {
    return file_kind(file) == FileKind::file && read_text(file, 100) == text;
  };
  return (holds("/run/checkpoints/1/x", "x1") && holds("/run/checkpoints/1/y", "y1")) ||
         (holds("/run/checkpoints/2/x", "x2") && holds("/run/checkpoints/2/y", "y2"));
}

void put_first_folder(TestFiles& disk) {
  for (const char* path : {"/run", "/run/checkpoints", "/run/checkpoints/1"}) disk.mkdir(path);
  disk.put("/run/checkpoints/1/x", "x1");
  disk.put("/run/checkpoints/1/y", "y1");
}

TEST(Folder, ReplacingOneLeavesAWholeOneAfterEveryCrash) {
  TestFiles disk;
  put_first_folder(disk);
  const std::uint64_t checks =
      crash_everywhere(disk, 50, replace_folder, [] { EXPECT_TRUE(some_folder_is_whole()); });
  EXPECT_GT(checks, 1000U);
}

TEST(Folder, ReplacingOneLeavesAWholeOneAfterEveryFailure) {
  fail_everywhere(
      EIO, put_first_folder, replace_folder,
      [](TestFiles&, const std::string&, const std::string&) { EXPECT_TRUE(some_folder_is_whole()); });
}

}  // namespace
}  // namespace lockstep
