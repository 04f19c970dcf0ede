#include "core/files/folder.h"

#include <gtest/gtest.h>

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

TEST(Folder, HasWhatLiesInIt) {
  const TemporaryFolder folder;
  make_folder(folder / "a/b");
  make_folder(folder / "c");
  std::filesystem::create_directory_symlink(folder / "a", folder / "link");
  const std::filesystem::path outer = folder / "a";
  for (const char* const inner : {"a", "a/", "a/b", "a/missing/x", "c/../a/b", "link", "link/b/x"})
    EXPECT_TRUE(lies_in(folder / inner, outer)) << inner;
  for (const char* const other : {"", "c", "ab", "a/..", "link/../c"})
    EXPECT_FALSE(lies_in(folder / other, outer)) << other;
  EXPECT_FALSE(lies_in(folder / "a", folder / "missing"));
  for (const char* const inner : {"/", "/no/such"}) {
    EXPECT_TRUE(lies_in(inner, "/")) << inner;
    EXPECT_FALSE(lies_in(inner, outer)) << inner;
  }
  EXPECT_TRUE(lies_in(outer, "/"));
  EXPECT_TRUE(lies_in("missing", "."));
}

TEST(Folder, ListsTheFilesOfATree) {
  const TemporaryFolder folder;
  for (const char* name : {"b", "b/a", ".hidden"}) make_folder(folder / name);
  for (const char* name : {"b/a/2", "b/3", "b/.4", "c", "a", ".hidden/5"}) folder.write(name, "");
  std::filesystem::create_directory_symlink("..", folder / "b/loop");
  std::filesystem::create_symlink("nowhere", folder / "d");
  EXPECT_EQ(list_tree(folder.path()), (std::vector<std::filesystem::path>{"a", "b/3", "b/a/2", "c", "d"}));
  expect_error(Category::data, {"/no/such: cannot list: No such file or directory"},
               [] { list_tree("/no/such"); });
}

TEST(Folder, ListsNamesInOrder) {
  const TemporaryFolder folder;
  for (const char* name : {"b", "a", ".c"}) folder.write(name, "");
  EXPECT_EQ(list_folder(folder.path()), (Names{".c", "a", "b"}));
  for (const char* name : {"e", "d"}) make_folder(folder / name);
  std::filesystem::create_directory_symlink("d", folder / "link");
  Names folders = {"old"};
  EXPECT_EQ(list_folder(folder.path(), &folders).size(), 6U);
  EXPECT_EQ(folders, (Names{"d", "e"}));
  expect_error(Category::data, {"/no/such: cannot list: No such file or directory"},
               [] { list_folder("/no/such"); });
  TestFiles disk;
  const ScopedFiles replaced(disk);
  make_folder("/f");
  EXPECT_EQ(list_folder("/", &folders), Names{"f"});
  EXPECT_EQ(folders, Names{"f"});
  disk.fail(fail_call(1, EIO));
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

}  // namespace
}  // namespace lockstep
