#pragma once

#include <cstddef>
#include <cstdint>

#include "core/host_device.h"
#include "lockstep/shape.h"

namespace lockstep {

/// Seed and epoch. Together with the sample, they determine a step's random numbers.
struct RandomKey {
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
};

/// Layout of samples in memory, and their conversion to the network's input: (value - mean) / deviation of
/// the channel, where value is pixel / 255, or the number itself. Each operation is rounded to float.
struct SampleFormat {
  Shape shape;          ///< [channel][row][column]
  bool floats = false;  ///< whether values are floats; false: pixels of one byte
  // The arrays are in the memory of the device that reads the samples.
  const float* mean = nullptr;       ///< [channel]; null: zeros
  const float* deviation = nullptr;  ///< [channel], positive; null: ones

  std::size_t sample_bytes() const { return shape.size() * (floats ? sizeof(float) : 1); }
};

/// Target of a sample: its class or, unless the task is classification, numbers.
struct Target {
  std::int32_t label = 0;
  const float* values = nullptr;
};

/// View of a micro-batch in memory of the host or a device. MicroBatchRule decides its samples and their
/// partners. If samples are mixed, the network's input is fma(share, own, (1 - share) * partner), and the
/// target is the same mixture of labels or targets.
struct MicroBatch {
  std::uint32_t size = 0;                  ///< number of samples
  const std::byte** samples = nullptr;     ///< [sample] addresses
  std::uint64_t* ids = nullptr;            ///< [sample]
  std::int32_t* labels = nullptr;          ///< [sample]
  std::int32_t* partner_labels = nullptr;  ///< [sample]; null: samples are not mixed
  float* targets = nullptr;                ///< [sample][target]; null: labels are the targets
  std::uint32_t target_count = 0;          ///< targets of a sample
  float* shares = nullptr;  ///< [sample] share of the sample itself, in [0, 1]; null: samples are not mixed
  RandomKey* random = nullptr;  ///< one key for all samples

  LOCKSTEP_HD bool mixes() const { return shares != nullptr; }
};

/// Offsets of a micro-batch's arrays in one block of memory, the same on host and device: in bytes, aligned
/// to 256, so that each array has room for whole groups of 16 entries. The samples are last, so that a short
/// micro-batch needs only the beginning of the block.
class MicroBatchLayout {
 public:
  /// Layout for up to `capacity` samples with `targets` numbers as targets each. If `sample_bytes` is 0,
  /// samples are stored elsewhere.
  MicroBatchLayout(std::size_t capacity, std::size_t sample_bytes, bool mixes, std::size_t targets = 0)
      : sample_bytes_(sample_bytes),
        ids_(after(0, sizeof(RandomKey))),
        labels_(after(ids_, capacity * sizeof(std::uint64_t))),
        partner_labels_(after(labels_, capacity * sizeof(std::int32_t))),
        shares_(after(partner_labels_, mixes ? capacity * sizeof(std::int32_t) : 0)),
        targets_(after(shares_, mixes ? capacity * sizeof(float) : 0)),
        samples_(after(targets_, capacity * targets * sizeof(float))),
        target_count_(static_cast<std::uint32_t>(targets)),
        mixes_(mixes) {}

  /// Bytes from the beginning of a block to the end of its first `samples` samples.
  std::size_t bytes(std::size_t samples) const { return samples_ + samples * sample_bytes_; }
  std::size_t sample_bytes() const { return sample_bytes_; }
  std::byte* sample(std::byte* block, std::size_t i) const { return block + samples_ + i * sample_bytes_; }

  /// Arrays of a block with `size` samples, without the addresses of the samples.
  MicroBatch arrays(std::byte* block, std::uint32_t size) const {
    MicroBatch batch{.size = size};
    batch.ids = reinterpret_cast<std::uint64_t*>(block + ids_);
    batch.labels = reinterpret_cast<std::int32_t*>(block + labels_);
    if (mixes_) batch.partner_labels = reinterpret_cast<std::int32_t*>(block + partner_labels_);
    if (mixes_) batch.shares = reinterpret_cast<float*>(block + shares_);
    if (target_count_ > 0) batch.targets = reinterpret_cast<float*>(block + targets_);
    batch.target_count = target_count_;
    batch.random = reinterpret_cast<RandomKey*>(block);
    return batch;
  }

 private:
  static std::size_t after(std::size_t offset, std::size_t bytes) {
    return (offset + bytes + 255) / 256 * 256;
  }

  std::size_t sample_bytes_;
  std::size_t ids_, labels_, partner_labels_, shares_, targets_, samples_;
  std::uint32_t target_count_;
  bool mixes_;
};

}  // namespace lockstep
