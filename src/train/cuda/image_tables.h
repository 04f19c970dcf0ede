#pragma once

#include "data/cuda/gather.h"
#include "device/table.h"
#include "train/cuda/feed.h"

namespace lockstep::cuda {

/// Converts the images of a loader to the layout that a plan reads.
class ImageTables {
 public:
  explicit ImageTables(const FeedOptions& options)
      : type_(options.plan.type()),
        mean_(options.device, options.loader.transform().mean()),
        deviation_(options.device, options.loader.transform().deviation()),
        format_(options.loader.transform().format()),
        cutout_(options.loader.transform().augment().cutout),
        target_(options.plan.image_shape()) {
    format_.mean = mean_.size() > 0 ? mean_.data() : nullptr;
    format_.deviation = deviation_.size() > 0 ? deviation_.data() : nullptr;
  }

  /// `placements`: how pixels are moved and blackened; null if the host has already done that.
  void gather(StreamHandle stream, const MicroBatch& batch, const PixelPlacement* placements,
              void* images) const {
    const ImageGather gather{.batch = batch,
                             .format = format_,
                             .placements = placements,
                             .cutout = placements != nullptr ? cutout_ : 0,
                             .target = target_,
                             .stored_channels = padded_channels(target_.channels)};
    if (type_ == Type::bf16) {
      gather_images(stream, gather, static_cast<Bfloat16*>(images));
    } else {
      gather_images(stream, gather, static_cast<float*>(images));
    }
  }

 private:
  Type type_;
  Table<float> mean_, deviation_;
  SampleFormat format_;  ///< with device addresses
  int cutout_;
  Shape target_;
};

}  // namespace lockstep::cuda
