// Host and device feeds put the same bytes into GPU memory.
#include "train/cuda/feed.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "device/cuda/cuda_device.h"
#include "fake_cuda/fake_cuda.h"
#include "ops/cuda/dnn/cudnn.h"
#include "train/small_run.h"

namespace lockstep {
namespace {

/// A feed and the device memory that it fills.
struct Fed {
  explicit Fed(const Loader& loader, bool by_host, int threads = 1)
      : plan(build_graph(test::small_network()), layout_arena(test::small_network().parameters()),
             {.samples = static_cast<int>(loader.micro_batch()), .training = true}, cuda::Type::fp32, *dnn),
        workspace(device.allocate(plan.workspace_bytes())),
        datasets(device, std::size_t{1} << 20) {
    const cuda::FeedOptions options{device, plan, loader, threads};
    feed =
        by_host ? cuda::make_host_feed(options) : cuda::make_device_feed(options, datasets.find(loader), {});
  }

  /// Loads all leaves in one recorded program and returns their images and arrays. Each leaf is copied from
  /// the memory where the network reads it, while the next leaf may already be arriving.
  std::vector<std::byte> load_all(const Loader& loader) {
    const std::size_t image_bytes =
        std::size_t{loader.micro_batch()} * 8 * loader.dataset().shape().size() * sizeof(float);
    std::vector<Buffer> copies;
    const auto copy = [&](const void* from, std::size_t bytes) {
      copies.push_back(device.allocate_host(bytes));
      device.copy(stream, copies.back().data(), from, bytes);
    };
    const auto program = device.record([&] {
      for (std::uint32_t leaf = 0; leaf < loader.leaves(loader.dataset().size()); ++leaf) {
        const MicroBatch batch = feed->load(stream, leaf, plan.images(workspace.data()));
        copy(plan.images(workspace.data()), image_bytes);
        copy(batch.ids, batch.size * sizeof *batch.ids);
        copy(batch.labels, batch.size * sizeof *batch.labels);
        if (batch.target_count > 0) {
          copy(batch.targets, batch.size * batch.target_count * sizeof *batch.targets);
        }
        copy(&batch.random->seed, sizeof batch.random->seed);
        copy(&batch.random->epoch, sizeof batch.random->epoch);
        if (!batch.mixes()) continue;
        copy(batch.partner_labels, batch.size * sizeof *batch.partner_labels);
        copy(batch.shares, batch.size * sizeof *batch.shares);
      }
    });
    program->run();
    device.copy(nullptr, nullptr, 0);  // waits for all copies
    std::vector<std::byte> bytes;
    for (const Buffer& part : copies) bytes.insert(bytes.end(), part.data(), part.data() + part.bytes());
    return bytes;
  }

  std::unique_ptr<Device> owner = cuda::make_cuda_device();
  Device& device = *owner;
  Stream& stream = *device.streams()[0];
  std::unique_ptr<cuda::Dnn> dnn = cuda::make_cudnn({});
  cuda::CudaPlan plan;
  Buffer workspace;
  cuda::DeviceDatasets datasets;
  std::unique_ptr<cuda::Feed> feed;
};

/// The next leaf may arrive as soon as its memory is free, or as late as possible.
TEST(Feed, OfTheHostBringsWhatOneOfTheDeviceBrings) {
  const SampleRange all{0, test::test_set().size()};
  fake_cuda::run_clock(true);
  for (const bool training : {false, true}) {
    test::Synthetic dataset = test::test_set();
    dataset.set_task(training ? Task::multilabel : Task::classification);
    Loader loader(dataset, 16, training ? InputOptions{.mean = {0.3}, .deviation = {0.4}} : InputOptions{},
                  training ? AugmentOptions{.crop_padding = 1, .hflip = 0.5, .cutout = 3, .mixup = 0.2}
                           : AugmentOptions{},
                  9);
    loader.set_step(all.first, all.samples);
    Fed by_device(loader, false);
    const std::vector<std::byte> expected = by_device.load_all(loader);
    EXPECT_EQ(by_device.feed->waited(), 0.0);
    for (const fake_cuda::Order order : {fake_cuda::Order::early, fake_cuda::Order::late}) {
      fake_cuda::set_order(order);
      for (const int threads : {1, 2, 3}) {
        Fed by_host(loader, true, threads);
        by_host.feed->expect({&all, 1});
        EXPECT_TRUE(by_host.load_all(loader) == expected) << threads << " threads";
        EXPECT_EQ(by_host.feed->visits(), VisitSum::expected(all.samples));
        EXPECT_GT(by_host.feed->waited(), 0.0);
      }
    }
  }
  fake_cuda::run_clock(false);
}

/// If the feed did not wait, the fake runtime would report that the source of a copy has changed.
TEST(Feed, OfTheHostWaitsForItsCopiesBeforeOtherSamplesAreRead) {
  test::Synthetic dataset = test::test_set();
  std::atomic<int> reads = 0;
  dataset.change = [&](std::uint64_t /*id*/, std::vector<std::uint8_t>& /*bytes*/) { ++reads; };
  Loader loader(dataset, 16, {}, {}, 9);
  loader.set_step(0, dataset.size());
  Fed by_host(loader, true);
  const SampleRange first{0, 16}, others{16, 32};
  by_host.feed->expect({&first, 1});
  const auto program = by_host.device.record(
      [&] { by_host.feed->load(by_host.stream, 0, by_host.plan.images(by_host.workspace.data())); });
  program->run();
  const int before = reads;
  by_host.feed->expect({&others, 1});
  while (reads < before + 32) std::this_thread::yield();
  by_host.device.copy(nullptr, nullptr, 0);
}

}  // namespace
}  // namespace lockstep
