#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/feed/micro_batch.h"
#include "data/feed/sample_reader.h"
#include "data/sets/bad_samples.h"

namespace lockstep {

/// Reader of micro-batches on the host. Samples that need no change stay in the data set's memory. For one
/// executor; allocates only for the first micro-batches, and for files larger than all before. Arguments must
/// outlive it.
class MicroBatchReader {
 public:
  /// `capacity`: maximum number of samples.
  MicroBatchReader(const Dataset& dataset, const Transform& transform, BadSamples& bad, std::size_t capacity);

  /// Reads micro-batch `number` of the rule's epoch: the samples `ids` in this order, except those that
  /// cannot be read; with BadSamples::keep_places, all of them. Valid until the next call. Throws errors
  /// other than Error(data): skipping would then change the result.
  const MicroBatch& read(const MicroBatchRule& rule, std::uint32_t number,
                         std::span<const std::uint64_t> ids);
  /// Same as SampleReader::contents.
  const VisitSum& contents() const { return reader_.contents(); }

 private:
  struct alignas(64) CacheLine {
    std::byte bytes[64];
  };

  /// Appends a sample to the micro-batch.
  void append(std::uint64_t id, const std::byte* sample);
  /// Memory of the block for the next sample.
  std::byte* place() { return layout_.sample(block_.data()->bytes, batch_.size); }

  const Dataset& dataset_;
  BadSamples& bad_;
  SampleReader reader_;
  MicroBatchLayout layout_;
  std::vector<CacheLine> block_;
  std::vector<const std::byte*> samples_;
  MicroBatch batch_;
};

}  // namespace lockstep
