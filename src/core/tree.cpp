#include "core/tree.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "lockstep/error.h"

namespace lockstep {
namespace {

/// Largest complete subtree from `begin` on that ends at or before `end` > `begin`.
Node largest_subtree(std::uint32_t begin, std::uint32_t end) {
  const int fits = std::bit_width(end - begin) - 1;
  const int aligned = begin == 0 ? fits : std::countr_zero(begin);
  return {begin, static_cast<std::uint8_t>(std::min(fits, aligned))};
}

std::uint32_t count_subtrees(std::uint32_t begin, std::uint32_t end) {
  std::uint32_t count = 0;
  for (; begin < end; ++count) begin = largest_subtree(begin, end).end();
  return count;
}

/// Search for the best partition by dynamic programming over parts. `longest` is the minimum length of the
/// longest range. The end of part p is begin + (p + 1) * longest - deficit; the deficit grows from part to
/// part up to `slack`, which keeps the table small.
class PartitionSearch {
 public:
  PartitionSearch(std::uint32_t begin, std::uint32_t end, std::uint32_t parts)
      : begin_(begin), parts_(parts) {
    const std::uint32_t leaves = end - begin;
    longest_ = leaves / parts + (leaves % parts != 0 ? 1 : 0);
    shortest_ = parts <= leaves ? 1 : 0;
    slack_ = parts * longest_ - leaves;
    cells_.assign(std::size_t{parts + 1} * (slack_ + 1), {});
    cell(0, 0).subtrees = 0;
    for (std::uint32_t part = 0; part < parts; ++part) extend(part);
  }

  std::vector<std::uint32_t> boundaries() {
    std::vector<std::uint32_t> result(parts_ + 1);
    std::uint32_t deficit = slack_;
    for (std::uint32_t part = parts_; part > 0; --part) {
      result[part] = position(part, deficit);
      deficit = cell(part, deficit).previous;
    }
    result[0] = begin_;
    return result;
  }

 private:
  struct Cell {
    std::uint32_t subtrees = std::numeric_limits<std::uint32_t>::max();
    std::uint32_t previous = 0;  ///< deficit before the last part
  };

  Cell& cell(std::uint32_t part, std::uint32_t deficit) {
    return cells_[std::size_t{part} * (slack_ + 1) + deficit];
  }

  std::uint32_t position(std::uint32_t part, std::uint32_t deficit) const {
    return begin_ + part * longest_ - deficit;
  }

  /// One step of the dynamic program: tries every length of `part` from every reachable deficit.
  void extend(std::uint32_t part) {
    for (std::uint32_t deficit = 0; deficit <= slack_; ++deficit) {
      const Cell from = cell(part, deficit);
      if (from.subtrees == Cell{}.subtrees) continue;
      const std::uint32_t largest = std::min(slack_, deficit + longest_ - shortest_);
      for (std::uint32_t next = deficit; next <= largest; ++next) {
        const std::uint32_t total =
            from.subtrees + count_subtrees(position(part, deficit), position(part + 1, next));
        Cell& to = cell(part + 1, next);
        if (total < to.subtrees) to = {total, deficit};
      }
    }
  }

  std::uint32_t begin_, parts_;
  std::uint32_t longest_ = 0, shortest_ = 0, slack_ = 0;
  std::vector<Cell> cells_;
};

/// Writer of the postfix program that computes one node of the tree from consecutive inputs.
class FoldWriter {
 public:
  FoldWriter(std::span<const Node> inputs, std::size_t next) : inputs_(inputs), next_(next) {}

  /// Writes the sum of the leaves [begin, end), which must form a node of the tree.
  void emit(std::uint32_t begin, std::uint32_t end) {
    if (next_ < inputs_.size() && inputs_[next_].begin == begin && inputs_[next_].end() == end) {
      return push();
    }
    if (end - begin < 2) throw Error(Category::internal, "partial sums do not tile the leaves");
    const std::uint32_t middle = begin + std::bit_floor(end - begin - 1);
    emit(begin, middle);
    emit(middle, end);
    fold_.program.push_back(Fold::add);
    --height_;
  }

  std::size_t next() const { return next_; }
  Fold take() { return std::move(fold_); }

 private:
  void push() {
    fold_.program.push_back(static_cast<std::int32_t>(next_++));
    fold_.depth = std::max(fold_.depth, ++height_);
  }

  std::span<const Node> inputs_;
  std::size_t next_;
  std::uint32_t height_ = 0;
  Fold fold_;
};

}  // namespace

std::vector<std::uint32_t> partition(std::uint32_t leaves, std::uint32_t parts) {
  return partition(0, leaves, parts);
}

std::vector<std::uint32_t> partition(std::uint32_t leaves, std::span<const double> weights) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::uint32_t> bounds{0};
  double before = 0.0;
  for (const double weight : weights) {
    before += weight;
    bounds.push_back(std::min(leaves, static_cast<std::uint32_t>(std::lround(leaves * (before / total)))));
  }
  bounds.back() = leaves;
  return bounds;
}

std::vector<std::uint32_t> partition(std::uint32_t begin, std::uint32_t end, std::uint32_t parts) {
  if (parts == 0) throw Error(Category::internal, "leaves cannot be divided among zero parts");
  return PartitionSearch(begin, end, parts).boundaries();
}

std::vector<Node> cover(std::uint32_t begin, std::uint32_t end) {
  std::vector<Node> nodes;
  while (begin < end) {
    nodes.push_back(largest_subtree(begin, end));
    begin = nodes.back().end();
  }
  return nodes;
}

Fold plan_fold(std::span<const Node> inputs, std::uint32_t leaves) {
  FoldWriter writer(inputs, 0);
  if (leaves > 0) writer.emit(0, leaves);
  if (writer.next() != inputs.size()) {
    throw Error(Category::internal, "partial sums reach beyond the last leaf");
  }
  return writer.take();
}

std::vector<Merge> plan_merge(std::span<const Node> inputs) {
  std::vector<Merge> merges;
  if (inputs.empty()) return merges;
  std::size_t next = 0;
  for (const Node& node : cover(inputs.front().begin, inputs.back().end())) {
    FoldWriter writer(inputs, next);
    writer.emit(node.begin, node.end());
    next = writer.next();
    merges.push_back({node, writer.take()});
  }
  return merges;
}

}  // namespace lockstep
