#include "core/files/lock_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <utility>

#include "support/expect_error.h"
#include "support/temporary_folder.h"
#include "support/test_files.h"

namespace lockstep {
namespace {

TEST(LockFile, OneHolderAtATime) {
  const TemporaryFolder folder;
  const auto path = folder / "lock";
  {
    const LockFile lock(path, "process 1 on host a", 0.0);
    EXPECT_EQ(contents(path), "process 1 on host a");
    expect_error(Category::resource, {folder.path().string() + " is in use by process 1 on host a: "},
                 [&] { const LockFile second(path, "process 2 on host b", 0.0); });
    EXPECT_EQ(contents(path), "process 1 on host a");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  const LockFile lock(path, "process 2 on host b", 0.0);
}

/// Anyone who can open a file for reading can lock it.
TEST(LockFile, IsReadableByThoseWhoMayWriteToIt) {
  const TemporaryFolder folder;
  for (const auto& [mask, mode] : {std::pair(0022U, 0600U), {0002U, 0660U}, {0077U, 0600U}, {0000U, 0666U}}) {
    const mode_t before = umask(mask);
    const LockFile lock(folder / "lock", "me", 0.0);
    umask(before);
    EXPECT_EQ(std::filesystem::status(folder / "lock").permissions(), std::filesystem::perms(mode)) << mask;
  }
}

TEST(LockFile, ASymbolicLinkIsNotFollowed) {
  const TemporaryFolder folder;
  folder.write("secret", "contents");
  std::filesystem::create_symlink(folder / "secret", folder / "lock");
  expect_error(Category::resource, {"/lock: cannot open: it is a symbolic link"},
               [&] { const LockFile lock(folder / "lock", "me", 0.0); });
  EXPECT_EQ(contents(folder / "secret"), "contents");
}

/// A killed holder's file stays; its text is longer than the name of the next holder.
TEST(LockFile, AFileThatNobodyHoldsIsReplaced) {
  const TemporaryFolder folder;
  const auto path = folder.write("lock", "a process with a long name");
  const LockFile lock(path, "me", 0.0);
  EXPECT_EQ(contents(path), "me");
}

TEST(LockFile, IsRenewedWhereItsFileWasRemoved) {
  const TemporaryFolder folder;
  const auto path = folder / "lock";
  LockFile lock(path, "me", 0.0);
  std::filesystem::remove(path);
  lock.renew();
  EXPECT_EQ(contents(path), "me");
  expect_error(Category::resource, {" is in use by me: "}, [&] { const LockFile second(path, "2", 0.0); });
}

TEST(LockFile, IsRenewedAfterAnAttemptThatFailed) {
  const TemporaryFolder folder;
  const auto path = folder / "lock";
  for (const char* name : {"open", "lock"}) {
    bool fails = false;
    TestFiles files(system_files(),
                    [&](const FileCall& call) { return fails && call.name == name ? EIO : 0; });
    const ScopedFiles replaced(files);
    LockFile lock(path, "me", 0.0);
    std::filesystem::remove(path);
    fails = true;
    for (int attempt = 0; attempt < 2; ++attempt) {
      expect_error(Category::resource, {"/lock: cannot ", "Input/output error"}, [&] { lock.renew(); });
    }
    fails = false;
    lock.renew();
    expect_error(Category::resource, {" is in use by me: "}, [&] { const LockFile second(path, "2", 0.0); });
  }
}

TEST(LockFile, InterruptedCallsAreMadeAgain) {
  const TemporaryFolder folder;
  for (const char* name : {"open", "lock", "ftruncate", "write"}) {
    TestFiles files(system_files(), interrupt_first(name));
    const ScopedFiles replaced(files);
    const LockFile lock(folder / "lock", "me", 0.0);
    EXPECT_EQ(contents(folder / "lock"), "me");
  }
}

TEST(LockFile, WithoutLocksARunContinues) {
  const TemporaryFolder folder;
  for (const int reason : {ENOLCK, EOPNOTSUPP, ENOSYS}) {
    TestFiles files(system_files(), [&](const FileCall& call) { return call.name == "lock" ? reason : 0; });
    const ScopedFiles replaced(files);
    testing::internal::CaptureStderr();
    const LockFile one(folder / "lock", "1", 0.0), two(folder / "lock", "2", 0.0);
    const std::string warnings = testing::internal::GetCapturedStderr();
    EXPECT_NE(warnings.find("lock: cannot lock: "), std::string::npos) << warnings;
  }
}

TEST(LockFile, AnyOtherFailureIsAnErrorWithThePath) {
  const TemporaryFolder folder;
  for (const char* name : {"open", "lock", "ftruncate", "write", "fstat", "stat"}) {
    TestFiles files(system_files(), [&](const FileCall& call) { return call.name == name ? EIO : 0; });
    const ScopedFiles replaced(files);
    expect_error(Category::resource, {"/lock: cannot ", "Input/output error"},
                 [&] { const LockFile lock(folder / "lock", "1", 0.0); });
  }
}

}  // namespace
}  // namespace lockstep
