#include "core/files/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace lockstep {
namespace {

using Names = std::vector<std::string>;

void write(AtomicFile& file, std::string_view text) { file.write(std::as_bytes(std::span(text))); }

TEST(AtomicFile, ReplacesTheOldFileOnCommitOnly) {
  for (const bool commits : {true, false}) {
    const TemporaryFolder folder;
    const auto path = folder.write("m", "old");
    {
      AtomicFile file(path);
      write(file, "new");
      EXPECT_EQ(contents(path), "old");
      if (commits) file.commit();
    }
    EXPECT_EQ(contents(path), commits ? "new" : "old");
    EXPECT_EQ(folder.names(), Names{"m"});
  }
}

TEST(AtomicFile, TheNextWriterRemovesWhatKilledOnesLeft) {
  const TemporaryFolder folder;
  folder.write("m.0123abcd.tmp", "of a killed writer");
  for (const char* other : {"m.0123abcd", "m.0123abcX.tmp", "n.0123abcd.tmp", "mm.0123abcd.tmp"}) {
    folder.write(other, "");
  }
  std::filesystem::create_symlink(folder / "n.0123abcd.tmp", folder / "m.00000000.tmp");
  const Names others = {"m",          "m.00000000.tmp",  "m.0123abcX.tmp",
                        "m.0123abcd", "mm.0123abcd.tmp", "n.0123abcd.tmp"};
  {
    AtomicFile living(folder / "m");
    write(living, "of a living writer");
    write_text_file(folder / "m", "of the next writer");
    EXPECT_EQ(folder.names().size(), others.size() + 1);
    living.commit();
  }
  EXPECT_EQ(folder.names(), others);
  EXPECT_EQ(contents(folder / "m"), "of a living writer");
}

TEST(AtomicFile, ReplacesALinkItselfByAFileForThoseWhomTheUserAllows) {
  const TemporaryFolder folder;
  const auto precious = folder.write("precious", "kept");
  std::filesystem::create_symlink(precious, folder / "m");
  const mode_t before = ::umask(022);
  write_text_file(folder / "m", "new");
  ::umask(before);
  EXPECT_EQ(contents(precious), "kept");
  EXPECT_EQ(contents(folder / "m"), "new");
  EXPECT_EQ(std::filesystem::symlink_status(folder / "m").permissions(), std::filesystem::perms{0644});
}

TEST(AtomicFile, RefusesWhatIsNoFileAtOnce) {
  const TemporaryFolder folder;
  expect_error(Category::resource, {folder.path().string() + ": is a folder, not a file"},
               [&] { const AtomicFile file(folder.path()); });
  expect_error(Category::resource, {"/dev/null: is not a regular file"},
               [] { const AtomicFile file("/dev/null"); });
  expect_error(Category::resource, {"/no/such/m: cannot create a file beside it: No such file or directory"},
               [] { const AtomicFile file("/no/such/m"); });
}

}  // namespace
}  // namespace lockstep
