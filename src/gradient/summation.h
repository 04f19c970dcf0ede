#pragma once

#include <cstddef>
#include <memory>

#include "comm/exchange.h"
#include "core/tree.h"
#include "device/device.h"

namespace lockstep {

/// Additions of arenas in the memory of one device, recorded on a stream.
class Summation {
 public:
  virtual ~Summation() = default;
  /// into += from
  virtual void add(Stream& stream, float* into, const float* from, std::size_t count) const = 0;
  virtual void fill(Stream& stream, float* values, float value, std::size_t count) const = 0;
  /// Sums the inputs of `chunk` in the order of `program`, which must outlive the recording. `into`: address
  /// of element chunk.begin of the sum; may be one of the inputs. Use on one stream at a time.
  virtual void fold(Stream& stream, const Fold& program, const SumChunk& chunk, float* into) = 0;
  /// Allocates memory of the arenas' device.
  virtual Buffer allocate(std::size_t elements) const = 0;
};

/// Summation for arenas that the host can read.
std::unique_ptr<Summation> make_cpu_summation();

}  // namespace lockstep
