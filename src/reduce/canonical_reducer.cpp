#include <algorithm>

#include "lockstep/error.h"
#include "reduce/local_merge.h"
#include "reduce/reducer.h"

namespace lockstep {
namespace {

/// Partial sums of all ranks in rank order. A lone rank keeps its executors' sums apart: merging them first
/// would be one more pass over memory.
std::vector<Node> all_nodes(const Assignment& assignment, const std::vector<Partial>& own, int ranks) {
  std::vector<Node> nodes;
  if (ranks == 1) {
    for (const Partial& partial : own) nodes.push_back(partial.node);
    return nodes;
  }
  for (std::size_t rank = 0; rank + 1 < assignment.ranks.size(); ++rank) {
    const std::vector<Node> part = cover(assignment.ranks[rank], assignment.ranks[rank + 1]);
    nodes.insert(nodes.end(), part.begin(), part.end());
  }
  return nodes;
}

/// An error here would otherwise show as a wrong sum or a hang.
void check_own(const ReducerOptions& options, int rank) {
  std::uint32_t leaf = options.assignment.ranks[static_cast<std::size_t>(rank)];
  for (const Partial& partial : options.partials) {
    if (partial.node.begin != leaf) throw Error(Category::internal, "partial sums are not the rank's leaves");
    leaf = partial.node.end();
  }
  if (leaf != options.assignment.ranks[static_cast<std::size_t>(rank) + 1]) {
    throw Error(Category::internal, "partial sums are not the rank's leaves");
  }
}

class CanonicalReducer final : public Reducer {
 public:
  CanonicalReducer(Communicator& communicator, const ReducerOptions& options)
      : communicator_(communicator),
        summation_(options.summation),
        merge_(communicator.size() > 1 ? options.partials : std::vector<Partial>{}, options.parameters.size(),
               options.summation),
        fold_(options.summation.make_folder(
            plan_fold(all_nodes(options.assignment, options.partials, communicator.size()),
                      options.assignment.leaves),
            options.parameters.size())) {
    check_own(options, communicator.rank());
    for (const Partial& partial : communicator.size() > 1 ? merge_.results() : options.partials) {
      partials_.own.push_back(partial.data);
    }
    partials_.slices =
        options.slices.empty() ? even_slices(options.parameters.size(), communicator.size()) : options.slices;
    partials_.results = options.parameters;
    const std::vector<std::uint32_t>& bounds = options.assignment.ranks;
    for (std::size_t rank = 0; rank + 1 < bounds.size(); ++rank) {
      partials_.counts.push_back(static_cast<std::uint32_t>(cover(bounds[rank], bounds[rank + 1]).size()));
    }
    if (communicator.size() == 1) partials_.counts = {static_cast<std::uint32_t>(partials_.own.size())};
    sums_only_ = partials_;
    sums_only_.results = {};
    results_only_.counts.assign(partials_.counts.size(), 0);
    results_only_.slices = partials_.slices;
    results_only_.results = partials_.results;
  }

  void reduce(const Apply& apply) override {
    merge_.run();
    communicator_.exchange(partials_, [&](std::span<const float* const> inputs, std::size_t begin,
                                          std::size_t end) { apply_chunk(inputs, begin, end, apply); });
  }

  /// The sum goes where this rank's first partial sum was: of that slice, nobody else reads it.
  std::span<float> sum() override {
    const auto [first, last] = owned();
    if (partials_.own.empty() && spare_.bytes() == 0) spare_ = summation_.allocate(last - first);
    sum_ = partials_.own.empty() ? spare_.floats().data() : partials_.own.front() + first;
    merge_.run();
    communicator_.exchange(sums_only_, [&](std::span<const float* const> inputs, std::size_t begin,
                                           std::size_t end) { keep_chunk(inputs, begin, end); });
    return {sum_, last - first};
  }

  void apply_sum(const Apply& apply) override {
    communicator_.exchange(results_only_,
                           [&](std::span<const float* const>, std::size_t begin, std::size_t end) {
                             apply(begin, {sum_ + (begin - owned().first), end - begin});
                           });
  }

  std::pair<std::size_t, std::size_t> owned() const override {
    const auto rank = static_cast<std::size_t>(communicator_.rank());
    return {partials_.slices[rank], partials_.slices[rank + 1]};
  }

 private:
  void apply_chunk(std::span<const float* const> inputs, std::size_t begin, std::size_t end,
                   const Apply& apply) {
    for (std::size_t at = begin; at < end; at += fold_->block()) {
      const std::size_t count = std::min(fold_->block(), end - at);
      apply(at, {fold_->sum(inputs, at - begin, count), count});
    }
  }

  void keep_chunk(std::span<const float* const> inputs, std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end; at += fold_->block()) {
      const std::size_t count = std::min(fold_->block(), end - at);
      fold_->sum_into(inputs, at - begin, count, sum_ + (at - owned().first));
    }
  }

  Communicator& communicator_;
  const Summation& summation_;
  LocalMerge merge_;
  std::unique_ptr<Folder> fold_;
  PartialSums partials_;
  PartialSums sums_only_, results_only_;  ///< the halves of an exchange
  Buffer spare_;                          ///< for the sum, of a rank without micro-batches
  float* sum_ = nullptr;
};

}  // namespace

std::unique_ptr<Reducer> make_canonical_reducer(Communicator& communicator, ReducerOptions options) {
  if (options.assignment.leaves == 0) throw Error(Category::internal, "a step without micro-batches");
  return std::make_unique<CanonicalReducer>(communicator, options);
}

}  // namespace lockstep
