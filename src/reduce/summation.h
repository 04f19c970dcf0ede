#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "core/tree.h"
#include "device/device.h"

namespace lockstep {

/// Runs a fold program on some elements at a time. Inputs are never copied: an addition reads them where they
/// are. No allocation after the first call.
class Folder {
 public:
  virtual ~Folder() = default;
  /// Most elements at once.
  virtual std::size_t block() const = 0;
  /// Sum of elements [begin, begin + count) of the inputs, count <= block(): a pointer to the sum, valid
  /// until the next call; of a single input, the input itself.
  virtual const float* sum(std::span<const float* const> inputs, std::size_t begin, std::size_t count) = 0;
  /// The same, written to `into`, which may be those elements of one of the inputs.
  virtual void sum_into(std::span<const float* const> inputs, std::size_t begin, std::size_t count,
                        float* into) = 0;
};

/// Additions of arenas, which lie in the memory of one device. CPU: done on return. CUDA: given to the
/// device's stream, inside of enqueued work.
class Summation {
 public:
  virtual ~Summation() = default;
  /// into += from
  virtual void add(float* into, const float* from, std::size_t count) const = 0;
  virtual void fill(float* values, float value, std::size_t count) const = 0;
  /// Memory of that device.
  virtual Buffer allocate(std::size_t elements) const = 0;
  /// For parts of arenas of up to `elements` elements.
  virtual std::unique_ptr<Folder> make_folder(Fold fold, std::size_t elements) const = 0;
};

/// For arenas that the host can read: it has no state.
const Summation& cpu_summation();

}  // namespace lockstep
