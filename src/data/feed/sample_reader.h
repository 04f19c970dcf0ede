#pragma once

#include <cstdint>
#include <vector>

#include "data/feed/transform.h"
#include "data/image/decoder.h"
#include "data/image/resample.h"
#include "lockstep/sampler.h"

namespace lockstep {

/// Reads, decodes, crops and augments a data set's samples. Not thread-safe: each executor needs one. Buffers
/// only grow. Data set and transform must outlive the reader.
class SampleReader {
 public:
  SampleReader(const Dataset& dataset, const Transform& transform);

  /// Bytes of a sample.
  std::size_t sample_bytes() const { return sample_bytes_; }
  /// Reads sample `id` for the rule's epoch. Returns an address in the data set's memory, or `place`, which
  /// must have sample_bytes() bytes, aligned for floats. Throws Error(data) naming a sample that cannot be
  /// read.
  const std::byte* read(const MicroBatchRule& rule, std::uint64_t id, std::byte* place);
  /// Sum over ids and bytes of all image files read so far, including files that could not be decoded.
  const VisitSum& contents() const { return contents_; }

 private:
  void read_image_file(std::span<const std::uint8_t> file, const SampleVisit& visit, std::uint8_t* place);
  void reframe_pixels(std::span<const std::uint8_t> pixels, const SampleVisit& visit, std::uint8_t* place);

  const Dataset& dataset_;
  const Transform& transform_;
  std::size_t sample_bytes_;
  std::vector<std::uint8_t> file_;
  ImageDecoder decoder_;
  ImagePart part_;
  Resampler resampler_;
  VisitSum contents_;
  std::vector<std::uint8_t> scratch_;  ///< for augmentations
};

}  // namespace lockstep
