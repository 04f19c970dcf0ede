#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "comm/communicator.h"
#include "gradient/assignment.h"
#include "gradient/bucketed_exchange.h"
#include "gradient/local_merge.h"
#include "gradient/partial_sum_plan.h"
#include "gradient/summation.h"

namespace lockstep {

/// Options of gradient sums. `partials`: those of all executors of this rank, in order of leaves; arenas of
/// `elements` floats, aligned to 64 bytes, which are overwritten. `summation`: for the device of the arenas;
/// outlives the sums.
struct GradientSumsOptions {
  std::size_t elements = 0;
  Assignment assignment;
  std::vector<Partial> partials;
  Summation& summation;
};

/// Sums the gradients of all ranks over the elements that this rank owns: merges the partial sums of its
/// executors, and exchanges them; callers of next() fold the chunks. Each kind of step (full, short) has one
/// object, which outlives the programs that it is recorded in. As with a SumExchange, all ranks make the same
/// calls.
class GradientSums {
 public:
  /// Elements that this rank owns: [first, second). Optimizer state is needed for these only.
  std::pair<std::size_t, std::size_t> owned() const { return {first_, last_}; }

  /// Declares the gradients of elements from `begin` on final on all executors. Called once per step with 0.
  void ready(Stream& stream, std::size_t begin);
  /// Same as SumExchange::next, after ready(0). The sum of a chunk is the fold() of its inputs.
  std::optional<SumChunk> next(Stream& stream) { return exchange_->next(stream); }
  const Fold& fold() const { return fold_; }

  /// Folds all chunks; replaces calls of next(). Returns the sum over all elements that this rank owns; later
  /// work may overwrite it.
  float* sum(Stream& stream);
  /// The sum that sum() computes, as a chunk with one input.
  SumChunk summed() const { return {first_, last_, sums_}; }

 private:
  explicit GradientSums(Summation& summation) : summation_(summation) {}
  /// For an exchange of whole arenas, which returns sums.
  explicit GradientSums(const GradientSumsOptions& options)
      : summation_(options.summation),
        merge_(options.partials, options.elements),
        fold_{.program = {0}, .depth = 1},
        last_(options.elements),
        sum_(merge_.results().empty() ? nullptr : merge_.results().front().data) {}
  friend std::unique_ptr<GradientSums> plan_canonical_sums(Communicator& communicator,
                                                           const GradientSumsOptions& options,
                                                           const Slices& slices);
  friend std::unique_ptr<GradientSums> plan_bucketed_sums(Communicator& communicator,
                                                          const GradientSumsOptions& options,
                                                          std::span<const std::size_t> buckets,
                                                          std::size_t gathered);
  friend std::unique_ptr<GradientSums> plan_ring_sums(Communicator& communicator,
                                                      const GradientSumsOptions& options,
                                                      std::span<const std::size_t> buckets);

  Summation& summation_;
  LocalMerge merge_;
  std::unique_ptr<SumExchange> exchange_;
  Fold fold_;
  std::size_t first_ = 0, last_ = 0;
  float* sum_ = nullptr;            ///< sum of element `first_`; null: not allocated yet
  std::vector<const float*> sums_;  ///< `sum_`, as inputs of a chunk
  Buffer spare_;                    ///< memory of the sum on a rank without micro-batches
};

/// Sums in the order of the fixed tree (core/tree.h): the bits depend neither on ranks nor on executors.
/// `slices`: elements that each rank owns. Collective.
std::unique_ptr<GradientSums> plan_canonical_sums(Communicator& communicator,
                                                  const GradientSumsOptions& options, const Slices& slices);
/// The same sums, bucket by bucket, of all elements on every rank. `buckets`, `gathered`: see
/// gradient/bucketed_exchange.h. Collective.
std::unique_ptr<GradientSums> plan_bucketed_sums(Communicator& communicator,
                                                 const GradientSumsOptions& options,
                                                 std::span<const std::size_t> buckets,
                                                 std::size_t gathered = gathered_elements);
/// Sums by the library's allreduce: the bits depend on the number of ranks. Every rank owns all elements.
/// `buckets`: see gradient/bucketed_exchange.h. Collective.
std::unique_ptr<GradientSums> plan_ring_sums(Communicator& communicator, const GradientSumsOptions& options,
                                             std::span<const std::size_t> buckets);

}  // namespace lockstep
