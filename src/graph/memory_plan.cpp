#include "graph/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace lockstep {
namespace {

bool same_time(const Block& a, const Block& b) { return a.first <= b.last && b.first <= a.last; }

}  // namespace

MemoryPlan plan_memory(const std::vector<Block>& blocks, std::size_t alignment) {
  const auto rounded = [alignment](std::size_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
  };
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return blocks[a].bytes > blocks[b].bytes; });

  MemoryPlan plan;
  plan.offsets.assign(blocks.size(), 0);
  std::vector<std::size_t> placed;  // in ascending order of offsets
  for (const std::size_t block : order) {
    std::size_t offset = 0;
    const std::size_t bytes = rounded(blocks[block].bytes);
    for (const std::size_t other : placed) {
      if (!same_time(blocks[block], blocks[other])) {
        continue;
      }
      if (plan.offsets[other] >= offset + bytes) {
        break;
      }
      offset = std::max(offset, plan.offsets[other] + rounded(blocks[other].bytes));
    }
    plan.offsets[block] = offset;
    plan.bytes = std::max(plan.bytes, offset + bytes);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), block,
                         [&](std::size_t a, std::size_t b) { return plan.offsets[a] < plan.offsets[b]; }),
        block);
  }
  return plan;
}

}  // namespace lockstep
