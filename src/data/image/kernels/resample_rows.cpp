#include "data/image/kernels/resample_rows.h"

#include <hwy/highway.h>

namespace lockstep::kernels {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int first_shift = weight_bits - middle_bits;
constexpr int second_shift = weight_bits + middle_bits;

/// sums[x][channel], of which the fourth is without meaning. Two columns at once: (r, r', g, g', b, b', ...)
/// times (w, w', w, w', ...), neighbours added.
template <int known_taps>
void add_columns(const std::int16_t* row, const ColumnWeights& columns, int width, std::int32_t* sums) {
  const hn::FixedTag<std::int32_t, 4> wide;
  const hn::FixedTag<std::int16_t, 8> narrow;
  const int taps = known_taps > 0 ? known_taps : columns.taps;
  const auto half = hn::Set(wide, 1 << (second_shift - 1));
  const std::int16_t* weight = columns.weights;
  for (int x = 0; x < width; ++x) {
    const std::int16_t* value = row + static_cast<std::ptrdiff_t>(columns.first[x]) * 3;
    auto sum = hn::Zero(wide);
    auto second = hn::Zero(wide);
    for (int k = 0; k < taps; k += 2, value += 6, weight += 2) {
      std::int32_t pair = 0;
      hwy::CopyBytes<sizeof(pair)>(weight, &pair);
      const auto weights = hn::BitCast(narrow, hn::Set(wide, pair));
      const auto values = hn::InterleaveLower(narrow, hn::LoadU(narrow, value), hn::LoadU(narrow, value + 3));
      sum = hn::ReorderWidenMulAccumulate(wide, values, weights, sum, second);
    }
    sum = hn::Add(half, hn::RearrangeToOddPlusEven(sum, second));
    hn::StoreU(hn::ShiftRight<second_shift>(sum), wide, sums + static_cast<std::ptrdiff_t>(x) * 4);
  }
}

}  // namespace

void add_rows(const std::uint8_t* input, std::size_t count, const std::int16_t* weights, int taps,
              std::int32_t* sums, std::int16_t* output) {
  for (std::size_t i = 0; i < count; ++i) {
    sums[i] = 1 << (first_shift - 1);
  }
  for (int k = 0; k < taps; ++k, input += count) {
    const std::int32_t weight = weights[k];
    for (std::size_t i = 0; i < count; ++i) {
      sums[i] += weight * input[i];
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    output[i] = static_cast<std::int16_t>(sums[i] >> first_shift);
  }
}

void resize_colour_row(const std::int16_t* row, const ColumnWeights& columns, int width, std::int32_t* sums,
                       std::uint8_t* output, std::size_t plane) {
  if (columns.taps == 2) {
    add_columns<2>(row, columns, width, sums);
  } else if (columns.taps == 4) {
    add_columns<4>(row, columns, width, sums);
  } else {
    add_columns<0>(row, columns, width, sums);
  }
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t x = 0; x < static_cast<std::size_t>(width); ++x) {
      output[c * plane + x] = static_cast<std::uint8_t>(sums[4 * x + c]);
    }
  }
}

void resize_grey_row(const std::int16_t* row, const ColumnWeights& columns, int width, std::uint8_t* output) {
  const std::int16_t* weight = columns.weights;
  for (int x = 0; x < width; ++x) {
    const std::int16_t* value = row + columns.first[x];
    std::int32_t sum = 1 << (second_shift - 1);
    for (int k = 0; k < columns.taps; ++k, ++weight) {
      sum += std::int32_t{*weight} * value[k];
    }
    output[x] = static_cast<std::uint8_t>(sum >> second_shift);
  }
}

}  // namespace lockstep::kernels
