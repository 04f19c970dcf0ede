// A communicator of one rank on a GPU: operations are captured and replayed on the second stream, and an
// abort returns while a recording with operations still exists.
#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "comm/nccl_on_gpu/connect.h"
#include "comm/watched_communicator.h"
#include "device/cuda/cuda_device.h"
#include "support/expect_error.h"

namespace lockstep {
namespace {

class OneRankNccl : public testing::TestWithParam<bool> {
 protected:
  static constexpr std::size_t count = 100'000;
  static constexpr std::size_t bytes = count * sizeof(float);

  /// Copies `source` to the device, sums its halves, the second first, and copies the sums back together with
  /// a concurrent copy of the first half.
  std::unique_ptr<Program> record_sums(Communicator& nccl) {
    const std::span<float> all = values.floats();
    first_half = nccl.plan_all_reduce(all.first(count / 2));
    second_half = nccl.plan_all_reduce(all.subspan(count / 2));
    return device->record([&] {
      device->copy(stream, values.data(), source.data(), bytes);
      second_half.start(stream);
      device->copy(stream, meanwhile.data(), values.data(), bytes / 2);
      first_half.start(stream);
      first_half.finish(stream);
      second_half.finish(stream);
      device->copy(stream, result.data(), values.data(), bytes);
    });
  }
  void run(Program& program, float first) {
    for (std::size_t i = 0; i < count; ++i) source.floats()[i] = first + static_cast<float>(i);
    program.run();
    device->copy(nullptr, nullptr, 0);
    for (const std::size_t i : {std::size_t{0}, count / 2 - 1, count / 2, count - 1}) {
      EXPECT_EQ(result.floats()[i], first + static_cast<float>(i)) << "element " << i;
    }
    EXPECT_EQ(meanwhile.floats()[1], first + 1.0F);
  }

  std::unique_ptr<NcclUnderTest> library = make_nccl_under_test();
  std::unique_ptr<Communicator> self = make_self_communicator();
  std::atomic<bool> peer_has_ended = false;
  WatchedCommunicator host{*self, peer_has_ended};
  std::unique_ptr<Device> device = cuda::make_cuda_device(0, GetParam());
  Stream& stream = *device->streams()[0];
  Buffer values = device->allocate(bytes), source = device->allocate_host(bytes),
         result = device->allocate_host(bytes), meanwhile = device->allocate_host(bytes / 2);
  AllReduce first_half, second_half;
};
INSTANTIATE_TEST_SUITE_P(Graphs, OneRankNccl, testing::Bool(),
                         [](const auto& with) { return with.param ? "on" : "off"; });

TEST_P(OneRankNccl, ReplaysItsOperations) {
  const auto nccl = library->connect(host, *device);
  const auto program = record_sums(*nccl);
  for (const float first : {1.0F, -5.0F, 0.25F}) run(*program, first);
  nccl->check();
}

TEST_P(OneRankNccl, RecordsAgainAfterARecordingThatFailed) {
  const auto nccl = library->connect(host, *device);
  EXPECT_THROW(device
                   ->record([&] {
                     const AllReduce sum = nccl->plan_all_reduce(values.floats());
                     sum.start(stream);
                     sum.finish(stream);
                     throw Error(Category::data, "cut short");
                   })
                   ->run(),
               Error);
  const auto program = record_sums(*nccl);
  run(*program, 3.0F);
}

TEST_P(OneRankNccl, IsAbortedWhileARecordingIsAlive) {
  auto nccl = library->connect(host, *device);
  auto program = record_sums(*nccl);
  run(*program, 1.0F);
  peer_has_ended = true;
  for (const char* message : {"rank 1 has ended", "NCCL was aborted"}) {
    expect_exact_error(Category::peer, message, [&] { nccl->check(); });
  }
  program.reset();
  nccl.reset();
  std::vector<float> back(count);
  device->copy(back.data(), values.data(), bytes);  // the device is still usable
  EXPECT_EQ(back[1], 2.0F);
}

}  // namespace
}  // namespace lockstep
