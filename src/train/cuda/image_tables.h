#pragma once

#include "data/cuda/gather.h"
#include "device/table.h"
#include "train/cuda/feed.h"

namespace lockstep::cuda {

/// How the images of a loader become what a plan reads.
class ImageTables {
 public:
  explicit ImageTables(const FeedOptions& options)
      : type_(options.plan.type()),
        mean_(options.device, options.loader.transform().mean()),
        deviation_(options.device, options.loader.transform().deviation()),
        cutout_(options.loader.transform().augment().cutout),
        target_(options.plan.image_shape()) {}

  /// `samples` images of `array`, placed as `placed` says; null: they are its first ones, as they are there.
  void gather(StreamHandle stream, const SampleArray& array, std::uint32_t samples,
              const PlacedSample* placed, const CudaPlan::Inputs& inputs) const {
    const ImageGather gather{.array = array,
                             .samples = samples,
                             .placed = placed,
                             .cutout = placed != nullptr ? cutout_ : 0,
                             .shares = inputs.shares,
                             .mean = mean_.size() > 0 ? mean_.data() : nullptr,
                             .deviation = deviation_.size() > 0 ? deviation_.data() : nullptr,
                             .target = target_,
                             .stored_channels = padded_channels(target_.channels)};
    if (type_ == Type::bf16) {
      gather_images(stream, gather, static_cast<Bfloat16*>(inputs.images));
    } else {
      gather_images(stream, gather, static_cast<float*>(inputs.images));
    }
  }

 private:
  Type type_;
  Table<float> mean_, deviation_;
  int cutout_;
  Shape target_;
};

}  // namespace lockstep::cuda
