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

/// Options of gradient sums. `partials`: partial sums of all executors of this rank, in order of leaves;
/// arenas of `elements` floats, aligned to 64 bytes, which are overwritten. `summation`: for the device of
/// the arenas; must outlive the sums.
struct GradientSumsOptions {
  std::size_t elements = 0;
  Assignment assignment;
  std::vector<Partial> partials;
  Summation& summation;
};

/// Sums the gradients of all ranks over the elements that this rank owns: merges and exchanges the partial
/// sums of the executors; callers of next() fold the chunks. Each kind of step (full, short) has one object,
/// which must outlive the programs that it is recorded in. As with a SumExchange, all ranks must make the
/// same calls.
class GradientSums {
 public:
  /// Parts of the sums, which the functions below plan.
  struct Parts {
    Summation& summation;
    LocalMerge merge = {};
    Buffer spare = {};  ///< memory of the sum on a rank without micro-batches
    std::unique_ptr<SumExchange> exchange = nullptr;
    Fold fold = {};
    std::size_t first = 0, last = 0;  ///< elements that this rank owns
    float* sum = nullptr;             ///< sum of element `first`; null: not allocated yet

    /// Returns `sum`, after allocating its memory if it is null.
    float* memory_of_sum();
  };
  explicit GradientSums(Parts parts) : parts_(std::move(parts)) {}

  /// Elements that this rank owns: [first, second). Optimizer state is needed for these only.
  std::pair<std::size_t, std::size_t> owned() const { return {parts_.first, parts_.last}; }

  /// Declares that the gradients of elements from `begin` on are final on all executors. Must be called with
  /// 0 once per step.
  void ready(Stream& stream, std::size_t begin);
  /// Same as SumExchange::next, after ready(0). The sum of a chunk is the fold() of its inputs.
  std::optional<SumChunk> next(Stream& stream) { return parts_.exchange->next(stream); }
  const Fold& fold() const { return parts_.fold; }

  /// Folds all chunks; replaces calls of next(). Returns the sum over all elements that this rank owns; later
  /// work may overwrite it.
  float* sum(Stream& stream);
  /// The sum that sum() computes, as a chunk with one input.
  SumChunk summed() const { return {parts_.first, parts_.last, sums_}; }

 private:
  Parts parts_;
  std::vector<const float*> sums_;  ///< Parts::sum, as inputs of a chunk
};

/// Sums in the order of the fixed tree (core/tree.h): the bits depend neither on the number of ranks nor on
/// that of executors. `slices`: elements that each rank owns. Collective.
std::unique_ptr<GradientSums> plan_canonical_sums(Communicator& communicator,
                                                  const GradientSumsOptions& options, const Slices& slices);
/// Same sums, but every rank owns all elements; the exchange runs bucket by bucket. `buckets`, `gathered`:
/// see gradient/bucketed_exchange.h. Collective.
std::unique_ptr<GradientSums> plan_bucketed_sums(Communicator& communicator,
                                                 const GradientSumsOptions& options,
                                                 std::span<const std::size_t> buckets,
                                                 std::size_t gathered = gathered_elements);
/// Sums with the library's allreduce: the bits depend on the number of ranks. Every rank owns all elements.
/// `buckets`: see gradient/bucketed_exchange.h. Collective.
std::unique_ptr<GradientSums> plan_ring_sums(Communicator& communicator, const GradientSumsOptions& options,
                                             std::span<const std::size_t> buckets);

}  // namespace lockstep
