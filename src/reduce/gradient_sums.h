#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "comm/communicator.h"
#include "reduce/assignment.h"
#include "reduce/local_merge.h"
#include "reduce/partial_sum_plan.h"
#include "reduce/summation.h"

namespace lockstep {

/// What gradient sums are made of. `partials`: all executors', in order of leaves; arenas of `elements`
/// floats, aligned to 64 bytes, that are overwritten. `summation`: of the device that the arenas lie on;
/// outlives them.
struct GradientSumsOptions {
  std::size_t elements = 0;
  Assignment assignment;
  std::vector<Partial> partials;
  Summation& summation;
};

/// Sums the gradients of all ranks over the elements that this rank owns: what its executors left is merged,
/// exchanged, and folded by whoever takes the chunks. One per kind of step (full, tail); outlives the
/// programs that it is recorded in. As with a SumExchange, all ranks make the same calls.
class GradientSums {
 public:
  /// Elements that this rank owns: [first, second). Optimizer state is needed for these only.
  std::pair<std::size_t, std::size_t> owned() const { return {first_, last_}; }

  /// Gradients of elements from `begin` on are final on all executors; once per step for 0.
  void ready(Stream& stream, std::size_t begin);
  /// As SumExchange::next, after ready(0). The sum of a chunk is what fold() makes of its inputs.
  std::optional<SumChunk> next(Stream& stream) { return exchange_->next(stream); }
  const Fold& fold() const { return fold_; }

  /// Instead of next(): folds all chunks. The sum over all that this rank owns, which later work may change.
  float* sum(Stream& stream);
  /// That sum as a chunk with one input.
  SumChunk summed() const { return {first_, last_, sums_}; }

 private:
  explicit GradientSums(Summation& summation) : summation_(summation) {}
  friend std::unique_ptr<GradientSums> plan_canonical_sums(Communicator& communicator,
                                                           const GradientSumsOptions& options,
                                                           const Slices& slices);
  friend std::unique_ptr<GradientSums> plan_ring_sums(Communicator& communicator,
                                                      const GradientSumsOptions& options,
                                                      std::span<const std::size_t> buckets);

  Summation& summation_;
  LocalMerge merge_;
  std::unique_ptr<SumExchange> exchange_;
  Fold fold_;
  std::size_t first_ = 0, last_ = 0;
  float* sum_ = nullptr;            ///< its element `first_`; null: not allocated yet
  std::vector<const float*> sums_;  ///< the same
  Buffer spare_;                    ///< for it, of a rank without micro-batches
};

/// Bits independent of ranks and executors: the fixed tree (core/tree.h). `slices`: what each rank owns.
/// Collective.
std::unique_ptr<GradientSums> plan_canonical_sums(Communicator& communicator,
                                                  const GradientSumsOptions& options, const Slices& slices);
/// The library's allreduce: bits depend on the number of ranks. Every rank owns everything. `buckets`: see
/// plan_ring_exchange. Collective.
std::unique_ptr<GradientSums> plan_ring_sums(Communicator& communicator, const GradientSumsOptions& options,
                                             std::span<const std::size_t> buckets);

}  // namespace lockstep
