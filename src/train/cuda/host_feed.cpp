#include <fmt/format.h>

#include <chrono>
#include <vector>

#include "data/feed/read_ahead.h"
#include "device/cuda/cuda_device.h"
#include "lockstep/error.h"
#include "train/cuda/feed.h"
#include "train/cuda/image_tables.h"

namespace lockstep::cuda {
namespace {

class HostFeed final : public Feed {
 public:
  explicit HostFeed(const FeedOptions& options)
      : options_(options),
        images_(options),
        read_ahead_(options.device, options.loader, options.reader_threads),
        layout_(read_ahead_.layout()),
        block_(options.device.allocate(layout_.bytes(options.loader.micro_batch()))),
        samples_(addresses()) {}

  void expect(std::span<const SampleRange> coming) override { read_ahead_.expect(coming); }

  MicroBatch load(Stream& stream, std::uint32_t leaf, void* images) override {
    stream.call([this, leaf] { bring(leaf); }, Phase::load);
    MicroBatch batch = layout_.arrays(block_.data(), options_.loader.samples(leaf));
    batch.samples = samples_.as<const std::byte*>();
    images_.gather(handle_of(stream), batch, nullptr, images);
    return batch;
  }

  VisitSum visits() override { return visits_; }
  double waited() const override { return waited_; }

 private:
  /// Copies a leaf to GPU memory that no work is using. The copy is complete on return, so that the host
  /// block can be filled again.
  void bring(std::uint32_t leaf) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    try {
      read_ahead_.take(options_.loader.position(leaf), [&](const MicroBatch& batch, const std::byte* block) {
        waited_ += std::chrono::duration<double>(Clock::now() - start).count();
        for (std::uint32_t i = 0; i < batch.size; ++i) visits_.add(batch.ids[i]);
        options_.device.copy(block_.data(), block, layout_.bytes(batch.size));
      });
    } catch (const Error& error) {
      if (error.category() != Category::data) throw;
      throw Error(Category::data,
                  fmt::format("{}; on a GPU no sample can be skipped, because a step is recorded for whole "
                              "micro-batches: remove it from the data set (lockstep data stats lists all "
                              "such samples), or use the CPU",
                              error.what()));
    }
  }

  /// Table of the addresses of the samples in the GPU block.
  Buffer addresses() {
    std::vector<const std::byte*> each(options_.loader.micro_batch());
    for (std::size_t i = 0; i < each.size(); ++i) each[i] = layout_.sample(block_.data(), i);
    Buffer table = options_.device.allocate(each.size() * sizeof each[0]);
    options_.device.copy(table.data(), each.data(), table.bytes());
    return table;
  }

  FeedOptions options_;
  ImageTables images_;
  ReadAhead read_ahead_;
  const MicroBatchLayout& layout_;
  Buffer block_, samples_;  ///< in GPU memory
  VisitSum visits_;
  double waited_ = 0.0;
};

}  // namespace

std::unique_ptr<Feed> make_host_feed(const FeedOptions& options) {
  return std::make_unique<HostFeed>(options);
}

}  // namespace lockstep::cuda
