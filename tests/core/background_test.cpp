#include "core/background.h"

#include <gtest/gtest.h>

#include <thread>

#include "lockstep/error.h"
#include "support/no_threads.h"

namespace lockstep {
namespace {

TEST(InBackground, IsOnAThreadOfItsOwn) {
  std::thread::id thread;
  in_background([&] { thread = std::this_thread::get_id(); }).get();
  EXPECT_NE(thread, std::this_thread::get_id());
}

TEST(InBackground, WithoutThreadsIsDoneAtOnce) {
  const NoThreads none;
  std::thread::id thread;
  const auto done = in_background([&] { thread = std::this_thread::get_id(); });
  EXPECT_EQ(thread, std::this_thread::get_id());
  EXPECT_EQ(done.wait_for(std::chrono::seconds(0)), std::future_status::ready);
}

TEST(InBackground, ErrorsAreThoseOfTheResult) {
  const auto fail = [] { throw Error(Category::resource, "full"); };
  EXPECT_THROW(in_background(fail).get(), Error);
  const NoThreads none;
  auto failed = in_background(fail);
  EXPECT_THROW(failed.get(), Error);
}

}  // namespace
}  // namespace lockstep
