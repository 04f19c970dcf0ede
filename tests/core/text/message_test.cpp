#include "core/text/message.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace lockstep {
namespace {

TEST(Message, IsOneLineWithoutControlCharacters) {
  testing::internal::CaptureStderr();
  print_message("best epoch 1");
  print_warning("cat/\x1b]0;title\x07.jpg: cannot open\nmore");
  print_warning("");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "best epoch 1\nlockstep: warning: cat/?]0;title?.jpg: cannot open?more\n");
}

TEST(Message, ReplacesAProgressLine) {
  testing::internal::CaptureStderr();
  replace_last_line();
  print_message("stopped");
  print_message("resume with");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "\r\x1b[Kstopped\nresume with\n");
}

TEST(DeferredError, WarnsAtOnceAndThrowsTheFirstFailureInTheEnd) {
  DeferredError errors;
  EXPECT_TRUE(errors.attempt([] {}));
  EXPECT_NO_THROW(errors.rethrow());
  testing::internal::CaptureStderr();
  EXPECT_FALSE(errors.attempt([] { throw Error(Category::resource, "disk full"); }));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "lockstep: warning: disk full; the run continues without it\n");
  EXPECT_FALSE(errors.attempt([] { throw std::runtime_error("a defect"); }));
  expect_error(Category::resource, {"disk full"}, [&] { errors.rethrow(); });
  DeferredError memory;
  EXPECT_FALSE(memory.attempt([] { throw std::bad_alloc(); }));
  expect_error(Category::resource, {"out of memory"}, [&] { memory.rethrow(); });
}

TEST(DeferredError, AFileThatIsWrittenLaterIsNoFailure) {
  DeferredError errors;
  for (const std::string file : {"best", "other"}) {
    EXPECT_FALSE(errors.attempt([&] { throw Error(Category::resource, file + ": disk full"); }, file));
  }
  EXPECT_TRUE(errors.attempt([] {}));
  EXPECT_TRUE(errors.attempt([] {}, "best"));
  expect_error(Category::resource, {"other: disk full"}, [&] { errors.rethrow(); });
  EXPECT_TRUE(errors.attempt([] {}, "other"));
  EXPECT_NO_THROW(errors.rethrow());
}

}  // namespace
}  // namespace lockstep
