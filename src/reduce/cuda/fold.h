#pragma once

#include <cstddef>
#include <cstdint>

#include "core/tree.h"
#include "device/cuda/launch.h"
#include "device/table.h"

/// Sums of arenas on a GPU, with the bits of reduce/block_fold.h. Fastest where addresses are multiples of 16
/// bytes, and offsets and counts of 4.
namespace lockstep::cuda {

/// A fold in the device's memory.
struct DeviceFold {
  const std::int32_t* program = nullptr;
  std::uint32_t length = 0;
};

/// Sums that a fold holds at once, at most: leaves are numbered with 32 bits.
constexpr std::uint32_t most_sums = 33;

/// Owns a fold. Throws Error(internal) for one that is deeper than that, which plan_fold never makes.
class FoldTable {
 public:
  FoldTable(Device& device, const Fold& fold);
  DeviceFold fold() const { return {program_.data(), static_cast<std::uint32_t>(program_.size())}; }

 private:
  Table<std::int32_t> program_;
};

/// output[i] = sum of elements begin + i of the inputs, i < count. `inputs`: addresses in the device's
/// memory, each a multiple of 16. The output may be the same elements of an input.
void fold(StreamHandle stream, const DeviceFold& fold, const float* const* inputs, std::size_t begin,
          std::size_t count, float* output);

/// into[i] = into[i] + from[i]
void add(StreamHandle stream, float* into, const float* from, std::size_t count);

void fill(StreamHandle stream, float* to, float value, std::size_t count);

}  // namespace lockstep::cuda
