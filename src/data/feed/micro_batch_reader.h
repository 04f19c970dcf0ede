#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/feed/micro_batch.h"
#include "data/feed/sample_reader.h"
#include "data/sets/bad_samples.h"

namespace lockstep {

/// Micro-batches of the host, read sample by sample; samples that need no change stay in the data set's
/// memory. One per executor; nothing is allocated after the first micro-batches but for files that are larger
/// than all before. What is passed in outlives it.
class MicroBatchReader {
 public:
  /// Micro-batches have up to `capacity` samples.
  MicroBatchReader(const Dataset& dataset, const Transform& transform, BadSamples& bad, std::size_t capacity);

  /// Micro-batch `number` of the rule's epoch: the samples `ids` without those that cannot be read, in that
  /// order. Valid until the next call. Errors that are not the sample's (Error(resource) and others) are
  /// thrown: they would change what is trained.
  const MicroBatch& read(const MicroBatchRule& rule, std::uint32_t number,
                         std::span<const std::uint64_t> ids);

 private:
  struct alignas(64) CacheLine {
    std::byte bytes[64];
  };

  void read_sample(const MicroBatchRule& rule, std::uint64_t id);

  const Dataset& dataset_;
  BadSamples& bad_;
  SampleReader reader_;
  MicroBatchLayout layout_;
  std::vector<CacheLine> block_;
  std::vector<const std::byte*> samples_;
  MicroBatch batch_;
};

}  // namespace lockstep
