#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace lockstep {

/// Rows with the same number of columns, in blocks of memory: appending a row does not move other rows, and
/// memory can be released while the rows are read.
template <class Number>
class RowBlocks {
 public:
  explicit RowBlocks(std::size_t columns)
      : columns_(columns),
        block_rows_(std::max<std::size_t>(1, block_numbers / std::max<std::size_t>(1, columns))) {}

  std::size_t size() const { return rows_; }
  std::span<const Number> operator[](std::size_t row) const {
    return std::span(blocks_[row / block_rows_]).subspan(row % block_rows_ * columns_, columns_);
  }
  void append(std::span<const Number> row) {
    if (rows_ % block_rows_ == 0) blocks_.emplace_back().reserve(block_rows_ * columns_);
    blocks_.back().insert(blocks_.back().end(), row.begin(), row.end());
    ++rows_;
  }
  /// Calls use(row) for each row, ascending, and releases each block after its last row. Removes all rows.
  template <class Use>
  void consume(const Use& use) {
    for (std::size_t row = 0; row < rows_; ++row) {
      use((*this)[row]);
      if ((row + 1) % block_rows_ == 0) std::vector<Number>().swap(blocks_[row / block_rows_]);
    }
    blocks_.clear();
    rows_ = 0;
  }

 private:
  static constexpr std::size_t block_numbers = std::size_t{1} << 16;

  std::size_t columns_;
  std::size_t block_rows_;
  std::size_t rows_ = 0;
  std::vector<std::vector<Number>> blocks_;
};

}  // namespace lockstep
