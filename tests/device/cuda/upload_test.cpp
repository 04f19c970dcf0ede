// Uploads have the same meaning on every device.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <vector>

#include "device/cuda/cuda_device.h"
#include "fake_cuda/fake_cuda.h"

namespace lockstep::cuda {
namespace {

class Uploads : public testing::TestWithParam<bool> {
 protected:
  static constexpr std::size_t bytes = 1000;

  /// Number `next`, as often as it fits; the one before is overwritten.
  std::span<const std::byte> number() {
    if (next == bad) throw std::runtime_error("cannot be read");
    std::fill_n(block.data(), bytes, std::byte{next++});
    return {block.data(), bytes};
  }
  void fill() {
    upload->fill(stream, [this] { return number(); });
  }
  /// Appends the number to `found`, if all bytes have it.
  void note() {
    fake_cuda::launch(handle_of(stream), "note", {}, [this] {
      const std::byte* data = upload->data();
      found.push_back(std::all_of(data, data + bytes, [&](std::byte each) { return each == data[0]; })
                          ? static_cast<int>(data[0])
                          : -1);
    });
  }
  /// Program of `count` fills.
  std::unique_ptr<Program> fills(int count) {
    return device->record([this, count] {
      for (int i = 0; i < count; ++i) {
        fill();
        note();
        upload->release(stream);
        fake_cuda::launch(handle_of(stream), "compute", {}, [] {});
      }
    });
  }
  void wait() { device->copy(nullptr, nullptr, 0); }

  std::unique_ptr<Device> device = make_cuda_device(0, GetParam());
  Stream& stream = *device->streams()[0];
  Buffer block = device->allocate_host(bytes);
  std::unique_ptr<Upload> upload = device->make_upload(bytes);
  std::uint8_t next = 1, bad = 0;
  std::vector<int> found;
};
INSTANTIATE_TEST_SUITE_P(Graphs, Uploads, testing::Bool(),
                         [](const auto& with) { return with.param ? "on" : "off"; });

TEST_P(Uploads, BringWhatTheHostHasAtTheTimeOfTheRun) {
  const auto three = fills(3), one = fills(1);
  three->run();
  one->run();
  three->run();
  wait();
  EXPECT_EQ(found, (std::vector<int>{1, 2, 3, 4, 5, 6, 7}));
}

TEST_P(Uploads, LeaveTheMemoryOfTheHostFreeAfterAWait) {
  const auto program = fills(1);
  program->run();
  upload->wait();
  std::fill_n(block.data(), bytes, std::byte{99});
  wait();
  EXPECT_EQ(found, (std::vector<int>{1}));
}

TEST_P(Uploads, PassOnTheErrorOfASource) {
  const auto program = fills(3);
  bad = 2;
  EXPECT_THROW(program->run(), std::runtime_error);
  bad = 0;
  program->run();
  wait();
  EXPECT_EQ(found, (std::vector<int>{1, 2, 3, 4}));
}

TEST_P(Uploads, MayEndWhileTheirCopyWaits) {
  const auto program = device->record([this] {
    fill();
    upload->release(stream);
  });
  program->run();
  program->run();
  upload.reset();
  block = {};
}

}  // namespace
}  // namespace lockstep::cuda
