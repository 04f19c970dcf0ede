#include "ops/cuda/step.h"

#include <cmath>

#include "device/cuda/native/launch.h"

namespace lockstep::cuda {
namespace {

struct ConcludeLeaves {
  const LeafResult* results;
  std::uint32_t leaves;
  StepLog log;
  std::uint32_t* positions;
  std::uint32_t* stopped;
  bool stops;

  LOCKSTEP_HD void operator()(std::size_t) const {
    StepOutcome sum{};
    for (std::uint32_t i = 0; i < leaves; ++i) sum += results[i];
    if (!stops || positions[0] == 0) *stopped = 0;
    if (!std::isfinite(sum.loss)) *stopped = 1;
    if (sum.samples > 0) {
      sum.statistic_scale = 1.0F / static_cast<float>(sum.samples);
      sum.gradient_scale = sum.statistic_scale;
      sum.updates = *stopped == 0 ? 1 : 0;
    }
    log.outcome() = sum;
    positions[1] = positions[0];
    ++positions[0];
  }
};

}  // namespace

void conclude_leaves(StreamHandle stream, const LeafResult* results, std::uint32_t leaves, const StepLog& log,
                     std::uint32_t* positions, std::uint32_t* stopped, bool stops) {
  for_each(stream, 1, ConcludeLeaves{results, leaves, log, positions, stopped, stops});
}

}  // namespace lockstep::cuda
