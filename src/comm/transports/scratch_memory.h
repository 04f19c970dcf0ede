#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "device/device.h"

namespace lockstep {

/// Memory that operations of one stream use one after the other. All memory ever returned stays valid,
/// because a recorded program may use it again.
class ScratchMemory {
 public:
  explicit ScratchMemory(std::function<Buffer(std::size_t bytes)> allocate)
      : allocate_(std::move(allocate)) {}

  /// Returns at least `bytes` bytes, aligned to 4,096: the same memory as last time if it is large enough.
  std::byte* at_least(std::size_t bytes) {
    if (bytes == 0) return nullptr;
    if (buffers_.empty() || buffers_.back().bytes() < bytes) buffers_.push_back(allocate_(bytes));
    return buffers_.back().data();
  }

 private:
  std::function<Buffer(std::size_t)> allocate_;
  std::vector<Buffer> buffers_;
};

}  // namespace lockstep
