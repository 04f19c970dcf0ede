#pragma once

#include <vector>

#include "data/feed/micro_batch.h"

namespace lockstep::test {

/// Micro-batch with its own memory, whose arrays a test fills. Initially zeros, without addresses of samples.
class HostMicroBatch {
 public:
  explicit HostMicroBatch(std::size_t size, bool mixes = false)
      : layout(size, 0, mixes), block(layout.bytes(0)), samples_(size) {
    batch = layout.arrays(block.data(), static_cast<std::uint32_t>(size));
    batch.samples = samples_.data();
  }
  HostMicroBatch(const HostMicroBatch&) = delete;
  HostMicroBatch& operator=(const HostMicroBatch&) = delete;

  const MicroBatchLayout layout;
  std::vector<std::byte> block;
  MicroBatch batch;

 private:
  std::vector<const std::byte*> samples_;
};

}  // namespace lockstep::test
