#include <fmt/format.h>

#include <chrono>

#include "data/read_ahead.h"
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
        block_(options.device.allocate(layout_.bytes(options.loader.micro_batch()))) {}

  void expect(std::span<const SampleRange> coming) override { read_ahead_.expect(coming); }

  void load(Stream& stream, std::uint32_t leaf, const CudaPlan::Inputs& inputs) override {
    const std::uint32_t samples = options_.loader.samples(leaf);
    stream.call([this, leaf] { bring(leaf); }, Phase::load);
    hand_over(stream, layout_.labels, inputs.labels, samples * sizeof(std::int32_t));
    hand_over(stream, layout_.other_labels, inputs.other_labels, samples * sizeof(std::int32_t));
    hand_over(stream, layout_.shares, inputs.shares, samples * sizeof(float));
    hand_over(stream, layout_.ids, inputs.ids, samples * sizeof(std::uint64_t));
    hand_over(stream, layout_.random, inputs.random, sizeof(RandomKey));
    const std::byte* pixels = block_.data() + layout_.samples;
    const bool floats = options_.loader.dataset().encoding() == Encoding::floats;
    const SampleArray array{.pixels = floats ? nullptr : reinterpret_cast<const std::uint8_t*>(pixels),
                            .floats = floats ? reinterpret_cast<const float*>(pixels) : nullptr,
                            .shape = options_.loader.dataset().shape()};
    images_.gather(handle_of(stream), array, samples, nullptr, inputs);
  }

  VisitSum visits() override { return visits_; }
  double waited() const override { return waited_; }

 private:
  /// To the GPU's memory, which no work uses now. The copy is done on return, so that the block of the host
  /// can be filled again.
  void bring(std::uint32_t leaf) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    try {
      read_ahead_.take(options_.loader.position(leaf), [&](const std::byte* block, std::size_t samples) {
        waited_ += std::chrono::duration<double>(Clock::now() - start).count();
        const auto* ids = reinterpret_cast<const std::uint64_t*>(block + layout_.ids);
        for (std::size_t i = 0; i < samples; ++i) visits_.add(ids[i]);
        options_.device.copy(block_.data(), block, layout_.bytes(samples));
      });
    } catch (const Error& error) {
      if (error.category() != Category::data) throw;
      throw Error(Category::data,
                  fmt::format("{}; on a GPU no sample can be left out, because a step is recorded for whole "
                              "micro-batches: take it out of the data set (lockstep data stats lists all "
                              "such), or use the CPU",
                              error.what()));
    }
  }

  /// From the block to where the plan wants it, if it does.
  void hand_over(Stream& stream, std::size_t offset, void* to, std::size_t bytes) {
    if (to != nullptr) options_.device.copy(stream, to, block_.data() + offset, bytes);
  }

  FeedOptions options_;
  ImageTables images_;
  ReadAhead read_ahead_;
  const BatchBlock& layout_;
  Buffer block_;  ///< of the device
  VisitSum visits_;
  double waited_ = 0.0;
};

}  // namespace

std::unique_ptr<Feed> make_host_feed(const FeedOptions& options) {
  return std::make_unique<HostFeed>(options);
}

}  // namespace lockstep::cuda
