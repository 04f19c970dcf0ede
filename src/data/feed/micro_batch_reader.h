#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/feed/micro_batch.h"
#include "data/feed/sample_reader.h"
#include "data/sets/bad_samples.h"

namespace lockstep {

/// Reader of micro-batches on the host. Samples that need no change stay in the data set's memory. Not
/// thread-safe: each executor needs one. Allocates memory only for the first micro-batches, and for files
/// larger than all earlier files. The constructor's arguments must outlive the reader.
class MicroBatchReader {
 public:
  /// `capacity`: maximum number of samples of a micro-batch.
  MicroBatchReader(const Dataset& dataset, const Transform& transform, BadSamples& bad, std::size_t capacity);

  /// Reads micro-batch `number` of the rule's epoch: the samples `ids` in this order. Samples that cannot be
  /// read are left out or, with BadSamples::keep_places, are zeros. The result is valid until the next call.
  /// Throws errors other than Error(data), because skipping such samples would change the result.
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
  /// Memory in the block for the next sample.
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
