#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "comm/communicator.h"
#include "core/tree.h"
#include "reduce/summation.h"

namespace lockstep {

/// Which leaves (micro-batches) of a step each rank and each of its executors computes.
struct Assignment {
  std::uint32_t leaves = 0;
  std::vector<std::uint32_t> ranks;      ///< boundaries over ranks
  std::vector<std::uint32_t> executors;  ///< boundaries over this rank's executors, inside its range
};
/// `weights`: of the ranks, what their numbers of leaves are like; empty: equal.
Assignment assign(std::uint32_t leaves, int ranks, int rank, int executors,
                  std::span<const double> weights = {});

/// One executor's gradient memory: folds the gradients of its leaves, given in order, into partial sums (the
/// cover of its range). Leaves that no sibling waits for are written in place; others are written to one
/// spare arena and added at once. At most 1 + ceil(log2 leaves) arenas for a range that begins at a multiple
/// of a power of two >= leaves; in general the largest of i + 1 + level over the results i = 0, 1, ...
class PartialSumPlan {
 public:
  PartialSumPlan(std::uint32_t begin, std::uint32_t end);

  /// Arenas that it needs.
  std::uint32_t arenas() const { return arenas_; }
  struct LeafStep {
    std::uint32_t write_to;  ///< arena that the leaf's gradient is written to
    /// Then, in order: arena[into] = arena[into] + arena[from].
    struct Addition {
      std::uint32_t into, from;
    };
    std::vector<Addition> additions;
  };
  const std::vector<LeafStep>& leaves() const { return leaves_; }
  struct Result {
    Node node;
    std::uint32_t arena;
  };
  const std::vector<Result>& results() const { return results_; }

 private:
  std::uint32_t arenas_ = 0;
  std::vector<LeafStep> leaves_;
  std::vector<Result> results_;
};

/// A partial sum of this rank: the gradients of a complete subtree.
struct Partial {
  Node node;
  float* data = nullptr;
};

/// Sums the gradients of all ranks and has them applied. One per kind of step (full, tail). Its methods are
/// called inside of enqueued work; CUDA: once, to record what they do.
class Reducer {
 public:
  virtual ~Reducer() = default;
  /// Applies `sum`, the total gradient of elements [begin, begin + sum.size()), to the parameters. Called
  /// for consecutive parts of the elements that this rank updates.
  using Apply = std::function<void(std::size_t begin, std::span<const float> sum)>;
  /// Sums the partials named at construction, calls `apply`, then brings the updated parameters to all ranks.
  /// Collective.
  virtual void reduce(const Apply& apply) = 0;
  /// The same in two halves, for updates that depend on the whole gradient. `sum`: the total gradient of the
  /// elements that this rank updates, which the caller may change until `apply_sum`, which calls `apply` with
  /// it and brings the updated parameters to all ranks. Takes no memory but for ranks without partials.
  /// Collective.
  virtual std::span<float> sum() = 0;
  virtual void apply_sum(const Apply& apply) = 0;
  /// Of the partials, elements from `begin` on are final: what can be summed of them is begun, so that it
  /// runs beside what makes the others. With descending `begin`. Where one rank calls it in a step, all ranks
  /// call ready(0) before anything else is exchanged.
  virtual void ready(std::size_t /*begin*/) {}
  /// What `ready` does nothing before: it waits for elements from there on.
  virtual std::size_t awaits() const { return 0; }
  /// Elements that this rank applies: [first, second). Optimizer state is needed for these only.
  virtual std::pair<std::size_t, std::size_t> owned() const = 0;
};

/// Everything that a reducer is made of. `parameters`: the arena that `apply` updates. `partials`: all
/// executors', in order of leaves; arenas like that one, aligned to 64 bytes, that the reducer may overwrite.
/// `slices`: what each rank updates; empty: even_slices. The ring has no use for them. `buckets`: of the
/// ring, where parts begin that are summed one by one, ascending from 0, the same on all ranks; empty: all at
/// once. `summation`: of the device that the arenas lie on; outlives the reducer.
struct ReducerOptions {
  std::span<float> parameters;
  Assignment assignment;
  std::vector<Partial> partials;
  Slices slices = {};
  std::vector<std::size_t> buckets = {};
  const Summation& summation = cpu_summation();
};

/// Bits independent of ranks and executors: the fixed tree (core/tree.h).
std::unique_ptr<Reducer> make_canonical_reducer(Communicator& communicator, ReducerOptions options);
/// The library's allreduce: bits depend on the number of ranks. Every rank updates everything.
std::unique_ptr<Reducer> make_ring_reducer(Communicator& communicator, ReducerOptions options);

}  // namespace lockstep
