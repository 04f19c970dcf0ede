#pragma once

#include <cstdint>
#include <vector>

#include "data/feed/transform.h"
#include "data/image/decoder.h"
#include "data/image/resample.h"

namespace lockstep {

/// Samples of a data set as the network wants them: decoded, cropped, augmented. One per executor; buffers
/// grow at first and are used again. Data set and transform outlive it.
class SampleReader {
 public:
  SampleReader(const Dataset& dataset, const Transform& transform);

  /// Length of a sample: pixels, or floats.
  std::size_t sample_bytes() const { return sample_bytes_; }
  /// Sample `id` as it is seen in the rule's epoch: memory of the data set, or written to `place`, which has
  /// sample_bytes() bytes, aligned as floats. Throws Error(data) naming a sample that cannot be read.
  const std::byte* read(const MicroBatchRule& rule, std::uint64_t id, std::byte* place);

 private:
  void read_image_file(std::span<const std::uint8_t> file, const SampleVisit& visit, std::uint8_t* place);
  void reframe_pixels(std::span<const std::uint8_t> pixels, const SampleVisit& visit, std::uint8_t* place);
  void augment(const SampleVisit& visit, const PixelPlacement& placement, std::uint8_t* place);

  const Dataset& dataset_;
  const Transform& transform_;
  std::size_t sample_bytes_;
  std::vector<std::uint8_t> file_;
  ImageDecoder decoder_;
  ImagePart part_;
  Resampler resampler_;
  std::vector<std::uint8_t> scratch_;  ///< of the augmentations
};

}  // namespace lockstep
