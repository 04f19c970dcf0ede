#pragma once

#include <chrono>
#include <vector>

#include "data/batch_reader.h"
#include "data/loader.h"
#include "device/device.h"
#include "ops/plan.h"

namespace lockstep {

/// Seconds since `start`, which moves to now.
inline double lap(std::chrono::steady_clock::time_point& start) {
  const auto now = std::chrono::steady_clock::now();
  const double seconds = std::chrono::duration<double>(now - start).count();
  start = now;
  return seconds;
}

/// One executor's way to run micro-batches: a workspace, and a reader of samples.
/// Used by one thread at a time.
class LeafRunner {
 public:
  LeafRunner(Device& device, const Plan& plan, const Loader& loader);

  /// Loads leaf `leaf` of the loader's step; forward, and backward unless `gradients` is null. Samples that
  /// cannot be read are left out: the result says how many there were. None: loss 0 and gradients of 0.
  LeafResult run(std::uint32_t leaf, const float* parameters, float* gradients);

  /// Adds the samples of the last leaf to counts[class * classes + predicted class].
  void count_predictions(std::span<std::uint64_t> counts, std::size_t classes) const;

  VisitSum visits;  ///< samples of all leaves run so far
  struct Seconds {
    double load = 0.0;
    double forward = 0.0;
    double backward = 0.0;
  };
  Seconds seconds;  ///< of all leaves run since it was last set to zero

 private:
  const Plan& plan_;
  const Loader& loader_;
  Buffer workspace_;
  BatchReader reader_;
  std::vector<std::uint64_t> ids_;
  Batch batch_;  ///< of the last leaf
};

}  // namespace lockstep
