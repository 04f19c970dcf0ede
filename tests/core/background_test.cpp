#include "core/background.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <cstddef>
#include <thread>

#include "lockstep/error.h"

namespace lockstep {
namespace {

/// While it lives, no thread can be started: the system has no memory for its stack.
class NoThreads {
 public:
  NoThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t huge;
    pthread_getattr_default_np(&huge);
    pthread_attr_setstacksize(&huge, std::size_t{1} << 50);
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
  }
  ~NoThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t before_{};
};

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
