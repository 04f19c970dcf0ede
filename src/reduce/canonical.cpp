#include <algorithm>
#include <utility>

#include "lockstep/error.h"
#include "reduce/fold_blocks.h"
#include "reduce/reducer.h"

namespace lockstep {
namespace {

/// Adds this rank's partial sums of sibling subtrees, so that fewer travel. In place: the sum of a merge
/// lands in its first input.
class RankMerge {
 public:
  RankMerge(const std::vector<Partial>& partials, std::size_t elements) : elements_(elements) {
    std::vector<Node> nodes;
    for (const Partial& partial : partials) {
      nodes.push_back(partial.node);
      inputs_.push_back(partial.data);
    }
    for (Merge& merge : plan_merge(nodes)) {
      merged_.push_back({merge.node, partials[static_cast<std::size_t>(merge.fold.program.front())].data});
      if (merge.fold.program.size() > 1) {
        work_.push_back({FoldBlocks(std::move(merge.fold)), merged_.back().data});
      }
    }
  }

  const std::vector<Partial>& merged() const { return merged_; }

  void run() {
    for (auto& [blocks, target] : work_) {
      float* sums = target;
      blocks.run(inputs_, elements_, [sums](std::size_t offset, std::span<const float> sum) {
        std::copy(sum.begin(), sum.end(), sums + offset);
      });
    }
  }

 private:
  std::size_t elements_;
  std::vector<const float*> inputs_;
  std::vector<Partial> merged_;
  std::vector<std::pair<FoldBlocks, float*>> work_;
};

/// Partial sums of every rank, in rank order: each rank's range as maximal complete subtrees.
std::vector<Node> nodes_of_all(const Assignment& assignment, std::vector<std::uint32_t>& counts) {
  std::vector<Node> nodes;
  for (std::size_t rank = 0; rank + 1 < assignment.ranks.size(); ++rank) {
    const auto own = cover(assignment.ranks[rank], assignment.ranks[rank + 1]);
    counts.push_back(static_cast<std::uint32_t>(own.size()));
    nodes.insert(nodes.end(), own.begin(), own.end());
  }
  return nodes;
}

class CanonicalReducer : public Reducer {
 public:
  CanonicalReducer(Communicator& communicator, ReducerOptions options)
      : communicator_(communicator),
        merge_(options.partials, options.elements),
        fold_(plan_fold(nodes_of_all(options.assignment, partials_.counts), options.assignment.leaves)) {
    for (const Partial& partial : merge_.merged()) {
      partials_.own.push_back(partial.data);
    }
    const auto rank = static_cast<std::size_t>(communicator.rank());
    if (partials_.own.size() != partials_.counts[rank]) {
      throw Error(Category::internal, "partial sums do not cover the rank's micro-batches");
    }
    partials_.slices = even_slices(options.elements, communicator.size());
    use_ = [this](std::span<const float* const> inputs, std::size_t begin, std::size_t end) {
      fold_.run(inputs, end - begin, [this, begin](std::size_t offset, std::span<const float> sum) {
        (*apply_)(begin + offset, sum);
      });
    };
  }

  void reduce(std::span<float> parameters, const Apply& apply) override {
    apply_ = &apply;
    merge_.run();
    communicator_.collect(partials_, use_);
    communicator_.all_gather(parameters, partials_.slices);
  }

  std::pair<std::size_t, std::size_t> owned() const override {
    const auto rank = static_cast<std::size_t>(communicator_.rank());
    return {partials_.slices[rank], partials_.slices[rank + 1]};
  }

 private:
  Communicator& communicator_;
  PartialSums partials_;
  RankMerge merge_;
  FoldBlocks fold_;
  Communicator::UseChunk use_;
  const Apply* apply_ = nullptr;
};

}  // namespace

std::unique_ptr<Reducer> make_canonical_reducer(Communicator& communicator, ReducerOptions options) {
  return std::make_unique<CanonicalReducer>(communicator, std::move(options));
}

}  // namespace lockstep
