#include "device/cpu/cpu_device.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <cstdlib>
#include <string>
#include <vector>

#include "lockstep/error.h"
#include "support/expect_error.h"

namespace lockstep {
namespace {

class CpuDevice : public testing::TestWithParam<int> {
 protected:
  std::unique_ptr<Device> device_ = make_cpu_device({.threads = GetParam()});
};

TEST_P(CpuDevice, EveryStreamRunsItsWorkInOrderInEveryRun) {
  const auto streams = device_->streams();
  ASSERT_EQ(streams.size(), static_cast<std::size_t>(GetParam()));
  std::vector<std::vector<int>> seen(streams.size());
  const auto program = device_->record([&] {
    for (std::size_t s = 0; s < streams.size(); ++s) {
      for (int i = 0; i < 5; ++i) {
        streams[s]->call([&seen, s, i] { seen[s].push_back(i); }, Phase::forward);
      }
    }
  });
  for (int run = 0; run < 100; ++run) {
    program->run();
  }
  for (const auto& order : seen) {
    ASSERT_EQ(order.size(), 500U);
    for (std::size_t i = 0; i < order.size(); ++i) {
      EXPECT_EQ(order[i], static_cast<int>(i % 5));
    }
  }
}

TEST_P(CpuDevice, WaitComesAfterTheEventsWork) {
  const auto streams = device_->streams();
  std::atomic<int> before{0};
  std::vector<int> found;
  const auto program = device_->record([&] {
    std::vector<Event> events;
    for (Stream* stream : streams) {
      stream->call([&] { ++before; }, Phase::forward);
      events.push_back(stream->record());
    }
    for (const Event event : events) {
      streams[0]->wait(event);
    }
    streams[0]->call([&] { found.push_back(before.exchange(0)); }, Phase::reduce);
  });
  for (int run = 0; run < 1000; ++run) {
    program->run();
  }
  EXPECT_EQ(found, std::vector<int>(1000, GetParam()));
}

TEST_P(CpuDevice, AnErrorOnAnyStreamIsRethrownAndTheNextRunWorks) {
  const auto streams = device_->streams();
  int runs = 0;
  const auto program = device_->record([&] {
    streams.back()->call(
        [&] {
          if (++runs == 1) throw Error(Category::data, "as planned");
        },
        Phase::load);
    streams.front()->wait(streams.back()->record());
  });
  EXPECT_THROW(program->run(), Error);
  program->run();
  EXPECT_EQ(runs, 2);
}

TEST_P(CpuDevice, TheCallingThreadIsLeftAsItWasWhenTheLastDeviceIsGone) {
  volatile float tiny = 1e-38F;
  device_ = make_cpu_device({.threads = GetParam()});  // made before the old one is destroyed
  EXPECT_EQ(tiny * 1e-3F, 0.0F);
  device_.reset();
  EXPECT_GT(tiny * 1e-3F, 0.0F);
}

TEST_P(CpuDevice, MemoryIsZeroedAndAligned) {
  const Buffer buffer = device_->allocate(10000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 4096, 0U);
  for (const float value : buffer.floats()) {
    ASSERT_EQ(value, 0.0F);
  }
  EXPECT_THROW(device_->allocate(std::size_t{1} << 60), Error);
}

TEST_P(CpuDevice, ALimitOfTheShellOnMemoryIsNamed) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_DATA, &before), 0);
  const rlim_t bytes = std::min<rlim_t>(rlim_t{1} << 50, before.rlim_max);  // more than any test needs
  const rlimit limited{.rlim_cur = bytes, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &limited), 0);
  expect_error(Category::resource, {"(ulimit -d " + std::to_string(bytes / 1024) + ")"},
               [&] { device_->allocate(std::size_t{1} << 60); });
  setrlimit(RLIMIT_DATA, &before);
}

TEST_P(CpuDevice, DenormalsAreZeroOnEveryStream) {
  const auto streams = device_->streams();
  std::vector<float> results(streams.size(), 1.0F);
  const auto program = device_->record([&] {
    for (std::size_t s = 0; s < streams.size(); ++s) {
      streams[s]->call(
          [&results, s] {
            volatile float tiny = 1e-38F;
            results[s] = tiny * 1e-3F;
          },
          Phase::forward);
    }
  });
  std::fesetenv(FE_DFL_ENV);  // as a program may do between two runs
  program->run();
  EXPECT_EQ(results, std::vector<float>(streams.size(), 0.0F));
}

TEST_P(CpuDevice, CallsAreTimedByPhase) {
  std::atomic<int> calls{0};
  const auto program = device_->record([&] {
    for (Stream* stream : device_->streams()) {
      stream->call([&] { ++calls; }, Phase::backward);
    }
  });
  program->run();
  EXPECT_GT(program->phases(0).value()[Phase::backward], 0.0);
  EXPECT_EQ(program->phases(0).value()[Phase::forward], 0.0);
}

TEST(CpuStream, WorkOutsideOfARecordingIsAnError) {
  const auto device = make_cpu_device({});
  EXPECT_THROW(device->streams()[0]->call([] {}, Phase::load), Error);
}

/// Ranks have their default number of threads on separate cores: each core belongs to exactly one part.
TEST(CpuCores, ArePartsOfRanks) {
  for (const int count : {1, 2, 8, 13}) {
    for (const int ranks : {1, 2, 3, 5, 16}) {
      int next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const CoreRange part = part_of_cores(count, rank, ranks);
        EXPECT_EQ(part.first, next);
        EXPECT_LE(std::abs(part.count - part_of_cores(count, 0, ranks).count), 1);
        next += part.count;
      }
      EXPECT_EQ(next, count);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, CpuDevice, testing::Values(1, 2, 3, 8));

}  // namespace
}  // namespace lockstep
