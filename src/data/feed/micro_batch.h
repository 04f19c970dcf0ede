#pragma once

#include <cstddef>
#include <cstdint>

#include "core/host_device.h"
#include "lockstep/shape.h"

namespace lockstep {

/// Seed and epoch: all that random numbers of a step depend on beside the sample.
struct RandomKey {
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
};

/// Layout of samples in memory, and how they become what the network reads: (value - mean) / deviation of the
/// channel, where value is pixel / 255, or the number itself; each step is rounded once to float.
struct SampleFormat {
  Shape shape;          ///< [channel][row][column]
  bool floats = false;  ///< numbers; otherwise pixels, one byte each
  // Per channel, in the memory of who reads the samples. Null: 0 and 1.
  const float* mean = nullptr;
  const float* deviation = nullptr;  ///< positive

  std::size_t sample_bytes() const { return shape.size() * (floats ? sizeof(float) : 1); }
};

/// A micro-batch in memory of the host or of a device: views, one entry per sample. MicroBatchRule says which
/// samples it has and which of them are partners. Where samples are mixed, the network reads
/// fma(share, own, (1 - share) * partner) of the two values, and the target is the same mixture of labels.
struct MicroBatch {
  std::uint32_t size = 0;               ///< number of samples
  const std::byte** samples = nullptr;  ///< address of each
  std::uint64_t* ids = nullptr;
  std::int32_t* labels = nullptr;
  std::int32_t* partner_labels = nullptr;  ///< null where samples are not mixed, as shares
  float* shares = nullptr;      ///< share of the sample itself, in [0, 1]; its partner has the rest
  RandomKey* random = nullptr;  ///< one

  LOCKSTEP_HD bool mixes() const { return shares != nullptr; }
};

/// Offsets of a micro-batch's arrays in one block of memory, the same on host and device: in bytes, aligned
/// to 256, so that each array has room for whole groups of 16 entries. The samples come last: a short
/// micro-batch is a short block.
class MicroBatchLayout {
 public:
  /// Room for `capacity` samples of `sample_bytes` each; 0: they lie elsewhere.
  MicroBatchLayout(std::size_t capacity, std::size_t sample_bytes, bool mixes)
      : sample_bytes_(sample_bytes),
        ids_(after(0, sizeof(RandomKey))),
        labels_(after(ids_, capacity * sizeof(std::uint64_t))),
        partner_labels_(after(labels_, capacity * sizeof(std::int32_t))),
        shares_(after(partner_labels_, mixes ? capacity * sizeof(std::int32_t) : 0)),
        samples_(after(shares_, mixes ? capacity * sizeof(float) : 0)),
        mixes_(mixes) {}

  /// Length of a block whose first `samples` samples matter.
  std::size_t bytes(std::size_t samples) const { return samples_ + samples * sample_bytes_; }
  std::size_t sample_bytes() const { return sample_bytes_; }
  std::byte* sample(std::byte* block, std::size_t i) const { return block + samples_ + i * sample_bytes_; }

  /// The arrays of a block, without the addresses of the samples.
  MicroBatch arrays(std::byte* block, std::uint32_t size) const {
    MicroBatch batch{.size = size};
    batch.ids = reinterpret_cast<std::uint64_t*>(block + ids_);
    batch.labels = reinterpret_cast<std::int32_t*>(block + labels_);
    if (mixes_) batch.partner_labels = reinterpret_cast<std::int32_t*>(block + partner_labels_);
    if (mixes_) batch.shares = reinterpret_cast<float*>(block + shares_);
    batch.random = reinterpret_cast<RandomKey*>(block);
    return batch;
  }

 private:
  static std::size_t after(std::size_t offset, std::size_t bytes) {
    return (offset + bytes + 255) / 256 * 256;
  }

  std::size_t sample_bytes_;
  std::size_t ids_, labels_, partner_labels_, shares_, samples_;
  bool mixes_;
};

}  // namespace lockstep
