// Tests the device of src/device/cuda/native on the fake CUDA runtime.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "device/cuda/cuda_device.h"
#include "device/cuda/native/launch.h"
#include "device/kernel_times.h"
#include "fake_cuda/fake_cuda.h"
#include "support/expect_error.h"

namespace lockstep::cuda {
namespace {

using fake_cuda::Order;

struct AddOne {
  float* values;
  LOCKSTEP_HD void operator()(std::size_t i) const { values[i] += 1; }
};
struct Double {
  float* values;
  LOCKSTEP_HD void operator()(std::size_t i) const { values[i] *= 2; }
};

class NativeDevice : public testing::TestWithParam<bool> {
 protected:
  void TearDown() override {
    fake_cuda::recover();
    fake_cuda::set_order(Order::late);
  }
  StreamHandle handle() { return handle_of(stream); }
  void set(float value) {
    const std::vector<float> all(count, value);
    device->copy(memory.data(), all.data(), memory.bytes());
  }
  std::vector<float> values() {
    std::vector<float> all(count);
    device->copy(all.data(), memory.data(), memory.bytes());
    return all;
  }
  std::string message_of(const std::function<void()>& work) {
    const auto error = error_of(work);
    return error ? error->what() : "no error";
  }
  std::string message_of_recording(const std::function<void()>& describe) {
    return message_of([&] { device->record(describe)->run(), device->copy(nullptr, nullptr, 0); });
  }

  static constexpr std::size_t count = 1000;
  std::unique_ptr<Device> device = make_cuda_device(0, GetParam());
  Stream& stream = *device->streams()[0];
  CudaStream& side = communication_stream(*device);
  Buffer memory = device->allocate(count * sizeof(float));
};
INSTANTIATE_TEST_SUITE_P(Graphs, NativeDevice, testing::Bool(),
                         [](const auto& with) { return with.param ? "on" : "off"; });

TEST_P(NativeDevice, ZeroesItsMemory) {
  EXPECT_EQ(values(), std::vector<float>(count, 0.0F));
  const Buffer pinned = device->allocate_host(3);
  EXPECT_EQ(pinned.data()[2], std::byte{0});
}

TEST_P(NativeDevice, RunsAProgramOftenAndInEveryOrder) {
  const auto program = device->record([&] {
    for_each(handle(), count, AddOne{memory.as<float>()});
    side.wait(stream.record());
    for_each(side.handle(), count, Double{memory.as<float>()});
    stream.wait(side.record());
    for_each(handle(), count, AddOne{memory.as<float>()});
  });
  for (const Order order : {Order::late, Order::early, Order::reversed}) {
    fake_cuda::set_order(order);
    set(1.0F);
    for (int run = 0; run < 3; ++run) program->run();
    EXPECT_EQ(values(), std::vector<float>(count, 29.0F));
  }
}

TEST_P(NativeDevice, WorksOnItsStreamsBetweenRunsAndCallsOfTheHost) {
  const auto several = make_cuda_device(0, GetParam(), 3);
  const auto streams = several->streams();
  ASSERT_EQ(streams.size(), 3U);
  const Buffer each = several->allocate_host(streams.size() * sizeof(float));
  std::vector<float> at_call;
  const auto on_each = several->record([&] {
    for (std::size_t i = 0; i < streams.size(); ++i) {
      for_each(handle_of(*streams[i]), 1, AddOne{each.as<float>() + i});
    }
    streams[0]->call([&] { at_call.assign(each.floats().begin(), each.floats().end()); }, Phase::load);
    for (std::size_t i = 0; i < streams.size(); ++i) {
      for_each(handle_of(*streams[i]), 1, AddOne{each.as<float>() + i});
    }
  });
  const auto on_first =
      several->record([&] { for_each(handle_of(*streams[0]), streams.size(), Double{each.as<float>()}); });
  for (const Order order : {Order::late, Order::early, Order::reversed}) {
    fake_cuda::set_order(order);
    std::ranges::fill(each.floats(), 0.0F);
    for (Program* const program : {on_each.get(), on_first.get(), on_each.get()}) program->run();
    several->copy(nullptr, nullptr, 0);
    EXPECT_EQ(at_call, std::vector<float>(3, 5.0F));
    EXPECT_EQ(std::vector<float>(each.floats().begin(), each.floats().end()), std::vector<float>(3, 6.0F));
  }
}

TEST_P(NativeDevice, CommunicatesWithTheHighestPriority) {
  int lowest = 0, highest = 0, priority = 0;
  EXPECT_EQ(cudaDeviceGetStreamPriorityRange(&lowest, &highest), cudaSuccess);
  EXPECT_EQ(cudaStreamGetPriority(side.handle(), &priority), cudaSuccess);
  EXPECT_EQ(priority, highest);
}

TEST_P(NativeDevice, MakesCallsOfTheHostInOrder) {
  const Buffer seen = device->allocate_host(sizeof(float));
  std::vector<float> at_call;
  const auto program = device->record([&] {
    for_each(handle(), count, AddOne{memory.as<float>()});
    device->copy(stream, seen.data(), memory.data(), sizeof(float));
    stream.call([&] { at_call.push_back(*seen.as<float>()); }, Phase::load);
    for_each(handle(), count, Double{memory.as<float>()});
  });
  program->run();
  program->run();
  EXPECT_EQ(at_call, (std::vector<float>{1.0F, 3.0F}));
  EXPECT_EQ(values().back(), 6.0F);
}

TEST_P(NativeDevice, LooksWhileItWaits) {
  int looks = 0;
  device->while_waiting([&] { ++looks; });
  const auto program = device->record([&] { for_each(handle(), count, AddOne{memory.as<float>()}); });
  program->run();
  EXPECT_EQ(values().front(), 1.0F) << "the first answers are that the GPU is busy";
  EXPECT_GT(looks, 0);
  device->while_waiting({});
}

TEST_P(NativeDevice, WaitsWhileMuchIsSubmitted) {
  const auto program = device->record([&] {
    for (int i = 0; i < 200; ++i) for_each(handle(), count, AddOne{memory.as<float>()});
  });
  int looks = 0;
  device->while_waiting([&] { ++looks; });
  for (int run = 0; run < 3; ++run) program->run();
  EXPECT_EQ(looks, 0) << "600 kernels are few";
  for (int run = 0; run < 5; ++run) program->run();
  EXPECT_EQ(looks > 0, GetParam()) << "1,600 are many, in graphs";
  device->while_waiting({});
  EXPECT_EQ(values(), std::vector<float>(count, 1600.0F));
}

TEST_P(NativeDevice, UsesTheEventsOfARecordingAgain) {
  const auto describe = [&] {
    for (int i = 0; i < 3; ++i) side.wait(stream.record());
  };
  std::vector<std::string> objects;
  for (int i = 0; i < 2; ++i) {
    const auto program = device->record(describe);
    program->run();
    objects.push_back(fake_cuda::live_objects());
  }
  EXPECT_EQ(objects[0], objects[1]);
}

TEST_P(NativeDevice, AllocatesAndCopiesWhileItRecords) {
  Buffer later;
  const auto program = device->record([&] {
    later = device->allocate(count * sizeof(float));
    const std::vector<float> ones(count, 1.0F);
    device->copy(later.data(), ones.data(), later.bytes());
    for_each(handle(), count, AddOne{later.as<float>()});
    device->copy(stream, memory.data(), later.data(), later.bytes());
  });
  program->run();
  EXPECT_EQ(values(), std::vector<float>(count, 2.0F));
}

TEST_P(NativeDevice, ContinuesAfterARecordingThatFailed) {
  const std::string wrong = message_of([&] {
    device
        ->record([&] {
          for_each(handle(), count, AddOne{memory.as<float>()});
          throw Error(Category::data, "cut short");
        })
        ->run();
  });
  EXPECT_EQ(wrong, "cut short");
  set(1.0F);
  device->record([&] { for_each(handle(), count, AddOne{memory.as<float>()}); })->run();
  EXPECT_EQ(values(), std::vector<float>(count, 2.0F));
}

/// An error that is not cleared would be mistaken for an error of the next launch.
TEST_P(NativeDevice, LeavesNoErrorBehindARecordingThatFailed) {
  if (!GetParam()) return;
  std::vector<float> pageable(count);
  message_of(
      [&] { device->record([&] { device->copy(stream, memory.data(), pageable.data(), memory.bytes()); }); });
  EXPECT_EQ(fake_cuda::take_faults().size(), 1U);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_P(NativeDevice, IsOnTheGpuOfItsRank) {
  fake_cuda::set_facts({.gpus = {{}, {}, {}}});
  for (const auto& [rank, gpu] : {std::pair(0, 0), std::pair(2, 2), std::pair(4, 1)}) {
    make_cuda_device(rank, GetParam());
    int current = -1;
    EXPECT_EQ(cudaGetDevice(&current), cudaSuccess);
    EXPECT_EQ(current, gpu) << "rank " << rank;
  }
  make_cuda_device(0, GetParam());
  fake_cuda::set_facts({});
}

TEST_P(NativeDevice, SaysHowMuchMemoryIsMissing) {
  EXPECT_EQ(message_of([&] { device->allocate(std::size_t{5} << 30); }),
            "GPU 0: not enough memory: 5120 MB are needed, 4095 of 4096 MB are free");
  device->record([&] { for_each(handle(), count, AddOne{memory.as<float>()}); })->run();
  EXPECT_EQ(values().front(), 1.0F) << "the error is not left behind";
}

/// Uses all parts of a device. Planned failures can occur until this function ends.
void use_device(bool graphs) {
  const std::unique_ptr<Device> device = make_cuda_device(0, graphs);
  Stream& stream = *device->streams()[0];
  CudaStream& side = communication_stream(*device);
  const Buffer memory = device->allocate(64), pinned = device->allocate_host(64);
  const std::unique_ptr<Upload> upload = make_upload(*device, 64);
  KernelTimes times(make_stream_clock());
  const auto program = device->record([&] {
    upload->fill(stream, [&] { return std::span<const std::byte>(pinned.data(), pinned.bytes()); });
    for_each(handle_of(stream), 16, AddOne{memory.as<float>()});
    upload->release(stream);
    side.wait(stream.record());
    for_each(side.handle(), 16, Double{memory.as<float>()});
    stream.wait(side.record());
    stream.call([] {}, Phase::load);
    device->copy(stream, pinned.data(), memory.data(), pinned.bytes());
  });
  for (int run = 0; run < 3; ++run) {
    program->run();
    upload->wait();
    upload->waited();
    device->copy(nullptr, nullptr, 0);
    device->while_waiting([] {});
  }
  times.collect();
  device->available_bytes();
  fake_cuda::recover();
}

TEST_P(NativeDevice, NamesEveryCallThatFails) {
  const std::string before = fake_cuda::live_objects();
  int calls = 0;
  for (std::string failed = "the first one"; !failed.empty(); ++calls) {
    fake_cuda::fail("any", cudaErrorIllegalAddress, calls);
    const std::string error = message_of([&] { use_device(GetParam()); });
    fake_cuda::recover();
    failed = fake_cuda::failed_function();
    EXPECT_EQ(fake_cuda::live_objects(), before) << failed << ", call " << calls;
    if (failed.empty() || error.starts_with("CUDA does not start: ")) continue;  // the probe failed
    EXPECT_EQ(error, "GPU 0: " + failed + ": the fake CUDA refuses (cudaErrorIllegalAddress)") << calls;
  }
  EXPECT_GT(calls, 50);
}

// Times of launches, which are measured only without graphs.

struct Take4 {
  void operator()(std::size_t /*i*/) const { fake_cuda::pass(4.0); }
};

/// Launches work that takes the GPU 10 microseconds and the host 6.
void run_library(StreamHandle stream) {
  timed_launch(stream, "library", [&] {
    fake_cuda::pass(6.0);
    fake_cuda::launch(stream, "library", {}, [] { fake_cuda::pass(10.0); });
  });
}

TEST_P(NativeDevice, MeasuresItsLaunchesWithoutTheHostsTime) {
  if (GetParam()) return;
  const auto program = device->record([&] {
    run_library(handle());
    for_each(handle(), 1, Take4{});
    device->copy(stream, memory.data(), memory.as<float>() + 8, 8);
    stream.call([] { fake_cuda::pass(1000.0); }, Phase::load);
    run_library(handle());
    side.wait(stream.record());
    for_each(side.handle(), 1, Take4{});
    stream.wait(side.record());
  });
  for (const Order order : {Order::late, Order::early}) {
    fake_cuda::set_order(order);
    KernelTimes times(make_stream_clock());
    for (int step = 0; step < 3; ++step) {
      program->run();
      device->copy(nullptr, nullptr, 0);  // waits for the program
      times.collect();
    }
    std::vector<std::string> found;
    for (const KernelTime& each : times.kernels()) {
      found.push_back(fmt::format("{} {} {:.3f}", each.name, each.launches, each.seconds * 1e6));
    }
    EXPECT_EQ(found, (std::vector<std::string>{"library 6 60.000", "Take4 6 24.000", "copy 3 0.000"}));
    EXPECT_EQ(times.between(), 0.0);
    EXPECT_EQ(times.of_points(), 0.0);
  }
}

TEST_P(NativeDevice, MeasuresNothingOfARunThatFails) {
  if (GetParam()) return;
  {
    const KernelTimes times(make_stream_clock());
    EXPECT_EQ(message_of_recording([&] {
                for_each(handle(), 1, Take4{});
                throw Error(Category::data, "cut short");
              }),
              "cut short");
  }
  KernelTimes times(make_stream_clock());
  device->record([&] { for_each(handle(), 1, Take4{}); })->run();
  fake_cuda::fail("kernel", cudaErrorIllegalAddress);
  message_of([&] { values(); });
  test::expect_holds(message_of([&] { times.collect(); }), "(cudaErrorIllegalAddress)");
}

// Mistakes in a recording.

TEST_P(NativeDevice, RefusesARecordingThatEndsWhileAnotherStreamWorks) {
  if (!GetParam()) return;  // without a capture, the next wait orders the streams
  const auto forked = [&] {
    side.wait(stream.record());
    for_each(side.handle(), count, AddOne{memory.as<float>()});
  };
  test::expect_holds(message_of_recording(forked), "(cudaErrorStreamCaptureUnjoined)");
  EXPECT_TRUE(test::holds(message_of_recording([&] {
                            forked();
                            stream.call([] {}, Phase::load);
                            stream.wait(side.record());
                          }),
                          "(cudaErrorStreamCaptureUnjoined)"))
      << "joined after a call of the host";
}

#if defined(__GNUC__) && !defined(__clang__)
TEST_P(NativeDevice, RefusesAddressesOfTheHostInKernels) {
  std::vector<float> on_the_heap(count);
  message_of_recording([&] { for_each(handle(), count, AddOne{on_the_heap.data()}); });
  const auto faults = fake_cuda::take_faults();
  ASSERT_FALSE(faults.empty());
  test::expect_holds(faults.front(), "AddOne: an argument is an address of the host");
}
#endif

}  // namespace
}  // namespace lockstep::cuda
