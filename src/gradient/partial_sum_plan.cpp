#include "gradient/partial_sum_plan.h"

#include <set>
#include <utility>

namespace lockstep {
namespace {

bool are_siblings(const Node& left, const Node& right) {
  return left.level == right.level && left.end() == right.begin && left.begin % (2u << left.level) == 0;
}

/// Numbers of free arenas; the lowest is taken first.
class FreeArenas {
 public:
  std::uint32_t take() { return free_.empty() ? count_++ : free_.extract(free_.begin()).value(); }
  void give(std::uint32_t arena) { free_.insert(arena); }
  std::uint32_t count() const { return count_; }

 private:
  std::set<std::uint32_t> free_;
  std::uint32_t count_ = 0;
};

}  // namespace

PartialSumPlan::PartialSumPlan(std::uint32_t begin, std::uint32_t end) {
  FreeArenas arenas;
  for (std::uint32_t leaf = begin; leaf < end; ++leaf) {
    results_.push_back({{leaf, 0}, arenas.take()});
    LeafStep step{results_.back().arena, {}};
    while (results_.size() > 1 && are_siblings(results_[results_.size() - 2].node, results_.back().node)) {
      const std::uint32_t from = results_.back().arena;
      results_.pop_back();
      ++results_.back().node.level;
      step.additions.push_back({results_.back().arena, from});
      arenas.give(from);
    }
    leaves_.push_back(std::move(step));
  }
  arenas_ = arenas.count();
}

}  // namespace lockstep
