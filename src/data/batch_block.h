#pragma once

#include <cstddef>
#include <cstdint>

#include "data/batch.h"

namespace lockstep {

/// Where the parts of a micro-batch lie in one piece of memory, the same on host and device: offsets in
/// bytes, aligned to 256. Arrays have an entry per sample.
struct BatchBlock {
  /// `bytes_each`: pixels or floats of one sample; up to `micro_batch` of them.
  BatchBlock(std::size_t bytes_each, std::size_t micro_batch)
      : sample_bytes(bytes_each),
        ids(after(0, sizeof(RandomKey))),
        labels(after(ids, micro_batch * sizeof(std::uint64_t))),
        other_labels(after(labels, micro_batch * sizeof(std::int32_t))),
        shares(after(other_labels, micro_batch * sizeof(std::int32_t))),
        samples(after(shares, micro_batch * sizeof(float))) {}

  /// Of a block whose first `count` samples matter.
  std::size_t bytes(std::size_t count) const { return samples + count * sample_bytes; }

  std::size_t sample_bytes;
  std::size_t random = 0;    ///< a RandomKey
  std::size_t ids;           ///< std::uint64_t
  std::size_t labels;        ///< std::int32_t
  std::size_t other_labels;  ///< std::int32_t, of the partners; of no meaning where nothing is mixed
  std::size_t shares;        ///< float; the same
  std::size_t samples;       ///< sample_bytes each; last, so that a short micro-batch is a short block

 private:
  static std::size_t after(std::size_t offset, std::size_t bytes) {
    return (offset + bytes + 255) / 256 * 256;
  }
};

}  // namespace lockstep
