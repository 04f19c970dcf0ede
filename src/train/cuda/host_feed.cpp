#include <fmt/format.h>

#include <optional>
#include <vector>

#include "data/feed/read_ahead.h"
#include "device/cuda/cuda_device.h"
#include "lockstep/error.h"
#include "train/cuda/feed.h"
#include "train/cuda/image_tables.h"
#include "watch/watch.h"

namespace lockstep::cuda {
namespace {

class HostFeed final : public Feed {
 public:
  explicit HostFeed(const FeedOptions& options)
      : options_(options),
        images_(options),
        read_ahead_(options.device, options.loader, options.reader_threads),
        layout_(read_ahead_.layout()),
        upload_(make_upload(options.device, layout_.bytes(options.loader.micro_batch()))),
        samples_(addresses()),
        arrays_(options.device.allocate(layout_.bytes(0))) {}

  void expect(std::span<const SampleRange> coming) override {
    upload_->wait();
    read_ahead_.expect(coming);
  }

  /// Converts the images and copies the arrays immediately, so that the next leaf can arrive while this one
  /// is computed.
  MicroBatch load(Stream& stream, std::uint32_t leaf, void* images) override {
    const std::uint32_t size = options_.loader.samples(leaf);
    upload_->fill(stream, [this, leaf] { return take(leaf); });
    MicroBatch arrived = layout_.arrays(upload_->data(), size);
    arrived.samples = samples_.as<const std::byte*>();
    images_.gather(handle_of(stream), arrived, nullptr, images);
    options_.device.copy(stream, arrays_.data(), upload_->data(), arrays_.bytes());
    upload_->release(stream);
    return layout_.arrays(arrays_.data(), size);
  }

  VisitSum visits() override { return visits_; }
  VisitSum contents() const override { return contents_; }
  double waited() const override { return upload_->waited(); }

 private:
  /// Block of a leaf in the host's memory, valid until the next call.
  std::span<const std::byte> take(std::uint32_t leaf) {
    std::optional<OwnWork> reading;
    if (options_.watch != nullptr) reading.emplace(*options_.watch);
    try {
      const auto [batch, block, contents] = read_ahead_.take(options_.loader.position(leaf));
      for (std::uint32_t i = 0; i < batch.size; ++i) visits_.add(batch.ids[i]);
      contents_.add(contents);
      return {block, layout_.bytes(batch.size)};
    } catch (const Error& error) {
      if (error.category() != Category::data) throw;
      throw Error(Category::data,
                  fmt::format("{}; on a GPU no sample can be skipped, because a step is recorded for whole "
                              "micro-batches: remove it from the data set (lockstep data stats lists all "
                              "such samples), or use the CPU",
                              error.what()));
    }
  }

  /// Table of the addresses of the samples in the GPU's memory.
  Buffer addresses() {
    std::vector<const std::byte*> each(options_.loader.micro_batch());
    for (std::size_t i = 0; i < each.size(); ++i) each[i] = layout_.sample(upload_->data(), i);
    Buffer table = options_.device.allocate(each.size() * sizeof each[0]);
    options_.device.copy(table.data(), each.data(), table.bytes());
    return table;
  }

  FeedOptions options_;
  ImageTables images_;
  ReadAhead read_ahead_;
  const MicroBatchLayout& layout_;
  std::unique_ptr<Upload> upload_;  ///< destroyed before the host's memory that it copies from
  Buffer samples_;                  ///< in GPU memory, like arrays_
  Buffer arrays_;                   ///< arrays of the leaf in progress, without its samples
  VisitSum visits_;
  VisitSum contents_;
};

}  // namespace

std::unique_ptr<Feed> make_host_feed(const FeedOptions& options) {
  return std::make_unique<HostFeed>(options);
}

}  // namespace lockstep::cuda
