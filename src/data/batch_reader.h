#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/bad_samples.h"
#include "data/batch.h"
#include "data/sample_reader.h"

namespace lockstep {

/// Micro-batches, read sample by sample. One per executor; nothing is allocated after the first micro-batches
/// but for files that are larger than all before. What is passed in outlives it.
class BatchReader {
 public:
  /// Micro-batches have up to `micro_batch` samples.
  BatchReader(const Dataset& dataset, const Transform& transform, BadSamples& bad, std::size_t micro_batch);

  /// Which micro-batch of a run: random numbers are drawn for it.
  struct Position {
    std::uint32_t epoch = 0;
    std::uint32_t number = 0;  ///< in the epoch
  };
  /// The samples `ids` without those that cannot be read, in that order. Valid until the next call. Errors
  /// that are not the sample's (Error(resource) and others) are thrown: they would change what is trained.
  Batch read(std::span<const std::uint64_t> ids, Position position);

 private:
  void mix(Position position);
  Batch batch(Position position) const;

  const Dataset& dataset_;
  const Transform& transform_;
  BadSamples& bad_;
  SampleReader reader_;
  std::vector<float> places_;  ///< room for every sample; floats for their alignment
  std::size_t place_floats_;
  std::vector<const std::uint8_t*> images_;
  std::vector<const float*> floats_;
  std::vector<std::int32_t> labels_;
  std::vector<std::uint64_t> ids_;  ///< of those that could be read
  std::vector<const std::uint8_t*> other_images_;
  std::vector<const float*> other_floats_;
  std::vector<std::int32_t> other_labels_;
  std::vector<float> shares_;
};

}  // namespace lockstep
