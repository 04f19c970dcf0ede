#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

/// Matrices by which exported models compute adaptive average pooling with windows of unequal sizes:
/// adaptive_rows * image * adaptive_columns. `count`: number of windows; `size`: number of pixels.
namespace lockstep {

/// Weight of row i of the image in window k: [k][i].
inline std::vector<float> adaptive_rows(std::int64_t count, std::int64_t size) {
  std::vector<float> weights(static_cast<std::size_t>(count * size));
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t begin = k * size / count;
    const std::int64_t end = ((k + 1) * size + count - 1) / count;
    std::fill(weights.begin() + k * size + begin, weights.begin() + k * size + end,
              1.0F / static_cast<float>(end - begin));
  }
  return weights;
}

/// Weight of column i of the image in window k: [i][k].
inline std::vector<float> adaptive_columns(std::int64_t size, std::int64_t count) {
  const std::vector<float> rows = adaptive_rows(count, size);
  const auto height = static_cast<std::size_t>(count), width = static_cast<std::size_t>(size);
  std::vector<float> transposed(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) transposed[i % width * height + i / width] = rows[i];
  return transposed;
}

}  // namespace lockstep
