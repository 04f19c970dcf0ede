// Tests copies that run concurrently with computation, on the fake CUDA runtime. Also plants missing waits,
// one by one.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "device/cuda/cuda_device.h"
#include "device/kernel_times.h"
#include "fake_cuda/fake_cuda.h"

namespace lockstep::cuda {
namespace {

using fake_cuda::Order;

class UploadOnFakeCuda : public testing::TestWithParam<bool> {
 protected:
  void TearDown() override {
    fake_cuda::recover();
    fake_cuda::set_order(Order::late);
  }
  /// Logs when the host is asked for number i ("s"), when the stream reads a number from the upload ("r",
  /// with the number read), and when the stream computes ("c").
  std::unique_ptr<Program> fills(int count) {
    return device->record([this, count] {
      for (int i = 0; i < count; ++i) {
        upload->fill(stream, [this] {
          if (filled + 1 == bad) throw std::runtime_error("cannot be read");
          log += fmt::format("s{} ", ++filled);
          fake_cuda::pass(microseconds_of_source);
          std::fill_n(block.data(), block.bytes(), std::byte{filled});
          return std::span<const std::byte>(block.data(), block.bytes());
        });
        launch("read",
               [this] { log += fmt::format("r{} ", static_cast<int>(upload->data()[block.bytes() - 1])); });
        upload->release(stream);
        launch("compute", [this] {
          log += "c ";
          fake_cuda::pass(10.0);
        });
      }
    });
  }
  void launch(const char* name, std::function<void()> work) {
    fake_cuda::launch(handle_of(stream), name, {}, std::move(work));
  }
  /// The log of a run in which call number `later` + 1 of a function is skipped.
  std::string run(int count, const char* without = nullptr, int later = 0) {
    const auto program = fills(count);
    log.clear();
    filled = 0;
    if (without != nullptr) fake_cuda::fail(without, cudaSuccess, later);
    program->run();
    wait();
    fake_cuda::recover();
    return log;
  }
  void wait() { device->copy(nullptr, nullptr, 0); }

  // Work that no test waits for still uses these while the device is destroyed.
  std::uint8_t filled = 0, bad = 0;
  double microseconds_of_source = 0.0;
  std::string log;
  std::unique_ptr<Device> device = make_cuda_device(0, GetParam());
  Stream& stream = *device->streams()[0];
  Buffer block = device->allocate_host(8);
  std::unique_ptr<Upload> upload = make_upload(*device, 8);
};
INSTANTIATE_TEST_SUITE_P(Graphs, UploadOnFakeCuda, testing::Bool(),
                         [](const auto& with) { return with.param ? "on" : "off"; });

/// Work runs only when something waits for it. The source of copy 3 is called when copy 2 is complete; until
/// then, number 1 must have been read, but nothing need have been computed.
TEST_P(UploadOnFakeCuda, ACopyIsDoneBeforeTheComputationBeforeIt) {
  EXPECT_EQ(run(4), "s1 s2 r1 s3 c r2 s4 c r3 c r4 c ");
}

TEST_P(UploadOnFakeCuda, ContinuesAcrossRuns) {
  const auto one = fills(1), two = fills(2);
  for (Program* each : {one.get(), two.get(), one.get()}) each->run();
  wait();
  EXPECT_EQ(log, "s1 s2 r1 s3 c r2 s4 c r3 c r4 c ");
}

TEST_P(UploadOnFakeCuda, LeavesTheMemoryOfTheHostFreeAfterAWait) {
  const auto program = fills(1);
  program->run();
  upload->wait();
  std::fill_n(block.data(), block.bytes(), std::byte{99});
  wait();
  EXPECT_EQ(log, "s1 r1 c ");
}

TEST_P(UploadOnFakeCuda, PassesOnTheErrorOfASource) {
  const auto program = fills(3);
  bad = 2;
  EXPECT_THROW(program->run(), std::runtime_error);
  bad = 0;
  program->run();
  wait();
  for (int i = 1; i <= 4; ++i) EXPECT_EQ(std::ranges::count(log, static_cast<char>('0' + i)), 2) << log;
}

TEST_P(UploadOnFakeCuda, MayEndWhileItsCopyWaits) {
  const auto program = device->record([this] {
    upload->fill(stream, [this] { return std::span<const std::byte>(block.data(), block.bytes()); });
    upload->release(stream);
  });
  program->run();
  program->run();
  upload.reset();
  block = {};
}

TEST_P(UploadOnFakeCuda, HasTheSameValuesInEveryOrder) {
  for (const Order order : {Order::late, Order::early, Order::reversed}) {
    fake_cuda::set_order(order);
    std::string values = run(5);
    std::erase_if(values, [](char each) { return each == 's' || each == 'c'; });
    for (int i = 1; i <= 5; ++i) EXPECT_NE(values.find(fmt::format("r{}", i)), std::string::npos) << values;
  }
}

TEST_P(UploadOnFakeCuda, LeavesNoErrorWhereACopyIsNotDone) {
  const auto program = fills(1);
  program->run();
  EXPECT_EQ(upload->waited(), 0.0) << "the wait is not over";
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "the next launch would return it";
  wait();
}

TEST_P(UploadOnFakeCuda, LooksWhileItWaitsForACopy) {
  int looks = 0;
  device->while_waiting([&] { ++looks; });
  const auto program = fills(2);
  program->run();
  EXPECT_GT(looks, 0) << "the second copy waits for the first one";
  device->while_waiting({});
}

// Planted faults. Fill i calls cudaStreamWaitEvent twice: call 2 i makes the copies wait, call 2 i + 1 the
// computation.

TEST_P(UploadOnFakeCuda, WithoutTheWaitForTheReleaseACopyComesTooEarly) {
  EXPECT_EQ(run(3, "cudaStreamWaitEvent", 2).find("r1"), std::string::npos) << log;
}

TEST_P(UploadOnFakeCuda, WithoutTheWaitForTheCopyTheOldNumberIsRead) {
  EXPECT_EQ(run(3, "cudaStreamWaitEvent", 5).find("r3"), std::string::npos) << log;
}

TEST_P(UploadOnFakeCuda, WithoutTheWaitOfTheHostTheSourceOverwritesWhatIsCopied) {
  EXPECT_EQ(run(3, "cudaStreamSynchronize", 1).find("r1"), std::string::npos) << log;
  EXPECT_EQ(fake_cuda::take_faults(),
            std::vector<std::string>{"copy: the host has written to its source before it was done"});
}

/// Launches are measured only without graphs.
TEST_P(UploadOnFakeCuda, IsALaunchThatIsMeasured) {
  if (GetParam()) return;
  const auto program = fills(2);
  KernelTimes times(make_stream_clock());
  program->run();
  wait();
  times.collect();
  ASSERT_EQ(times.kernels().size(), 1U) << "the others are not launched by for_each";
  EXPECT_EQ(times.kernels()[0].name, "upload");
  EXPECT_EQ(times.kernels()[0].launches, 2U);
}

TEST_P(UploadOnFakeCuda, SaysHowLongTheStreamHasWaited) {
  const auto program = fills(1);
  microseconds_of_source = 300.0;
  program->run();
  EXPECT_EQ(upload->waited(), 0.0) << "not over";
  wait();
  EXPECT_NEAR(upload->waited(), 300e-6, 1e-9) << "nothing was computed meanwhile";
  for (int i = 0; i < 4; ++i) {
    program->run();
    wait();
  }
  EXPECT_NEAR(upload->waited(), 5 * 300e-6, 1e-9);
}

}  // namespace
}  // namespace lockstep::cuda
