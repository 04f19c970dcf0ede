#include "data/image/kernels/resample_rows.h"

#include <hwy/highway.h>

namespace lockstep::kernels {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int first_shift = weight_bits - middle_bits;
constexpr int second_shift = weight_bits + middle_bits;

const hn::FixedTag<std::int32_t, 4> wide;
const hn::FixedTag<std::int16_t, 8> narrow;

/// Vector that repeats two neighbouring weights: (w, w', w, w', ...).
template <typename Tag>
hn::Vec<Tag> weight_pair(Tag tag, std::int16_t first, std::int16_t second) {
  return hn::InterleaveLower(tag, hn::Set(tag, first), hn::Set(tag, second));
}

/// Multiplies (a, a', b, b', ...) by (w, w', w, w', ...) and adds neighbouring products to `sum`.
template <typename Tag, typename Values, typename Sum>
Sum add_products(Tag tag, Values values, Values weights, Sum sum) {
  auto second = hn::Zero(tag);
  const auto first = hn::ReorderWidenMulAccumulate(tag, values, weights, hn::Zero(tag), second);
  return hn::Add(sum, hn::RearrangeToOddPlusEven(first, second));
}

/// Vector types of add_block, which processes one vector of values of two rows at a time. Interleaving the
/// lower and the upper half of a block and narrowing the sums again keeps the order of values.
const hn::CappedTag<std::int16_t, 16> row_tag;
const hn::RepartitionToWide<decltype(row_tag)> row_sum_tag;
const hn::Rebind<std::uint8_t, decltype(row_tag)> row_byte_tag;

template <int known_taps>
void add_block(const std::uint8_t* input, std::size_t stride, const std::int16_t* weights, int taps,
               std::int16_t* output) {
  const int count = known_taps > 0 ? known_taps : taps;
  auto lower = hn::Set(row_sum_tag, 1 << (first_shift - 1));
  auto upper = lower;
  for (int k = 0; k < count; k += 2, input += 2 * stride) {
    const bool pair = k + 1 < count;
    const auto first = hn::PromoteTo(row_tag, hn::LoadU(row_byte_tag, input));
    const auto second = pair ? hn::PromoteTo(row_tag, hn::LoadU(row_byte_tag, input + stride)) : first;
    const auto both = weight_pair(row_tag, weights[k], pair ? weights[k + 1] : std::int16_t{0});
    lower = add_products(row_sum_tag, hn::InterleaveLower(row_tag, first, second), both, lower);
    upper = add_products(row_sum_tag, hn::InterleaveUpper(row_tag, first, second), both, upper);
  }
  hn::StoreU(
      hn::ReorderDemote2To(row_tag, hn::ShiftRight<first_shift>(lower), hn::ShiftRight<first_shift>(upper)),
      row_tag, output);
}

template <int known_taps>
void add_blocks(const std::uint8_t* input, std::size_t count, const std::int16_t* weights, int taps,
                std::int16_t* output) {
  const std::size_t block = hn::Lanes(row_tag);
  for (std::size_t i = 0; i < count; i += block) {
    const std::size_t place = i + block <= count ? i : count - block;  // the last block may overlap
    add_block<known_taps>(input + place, count, weights, taps, output + place);
  }
}

/// Returns one output pixel: (red, green, blue, unspecified).
template <int known_taps>
hn::Vec<decltype(wide)> add_columns(const std::int16_t* value, const std::int16_t* weights, int taps) {
  const int count = known_taps > 0 ? known_taps : taps;
  auto sum = hn::Set(wide, 1 << (second_shift - 1));
  for (int k = 0; k < count; k += 2, value += 6) {
    std::int32_t pair = 0;
    hwy::CopyBytes<sizeof(pair)>(weights + k, &pair);
    sum = add_products(wide,
                       hn::InterleaveLower(narrow, hn::LoadU(narrow, value), hn::LoadU(narrow, value + 3)),
                       hn::BitCast(narrow, hn::Set(wide, pair)), sum);
  }
  return hn::ShiftRight<second_shift>(sum);
}

/// Stores four pixels as four bytes of each plane.
template <typename Pixel>
void store_pixels(Pixel first, Pixel second, Pixel third, Pixel fourth, std::uint8_t* output,
                  std::size_t plane) {
  const hn::FixedTag<std::uint8_t, 8> half;
  const hn::FixedTag<std::uint8_t, 16> bytes;
  const hn::FixedTag<std::uint32_t, 4> words;
  alignas(16) static constexpr std::uint8_t by_channel[16] = {0, 4, 8,  12, 1, 5, 9,  13,
                                                              2, 6, 10, 14, 3, 7, 11, 15};
  const auto left = hn::DemoteTo(half, hn::ReorderDemote2To(narrow, first, second));
  const auto right = hn::DemoteTo(half, hn::ReorderDemote2To(narrow, third, fourth));
  const auto sorted = hn::TableLookupBytes(hn::Combine(bytes, right, left), hn::Load(bytes, by_channel));
  alignas(16) std::uint32_t channels[4];
  hn::Store(hn::BitCast(words, sorted), words, channels);
  for (std::size_t c = 0; c < 3; ++c) {
    hwy::CopyBytes<4>(&channels[c], output + c * plane);
  }
}

/// `columns` is passed by value because its members would be reloaded after every byte store if it were a
/// reference.
template <int known_taps>
void resize_columns(const std::int16_t* row, ColumnWeights columns, int width, std::uint8_t* output,
                    std::size_t plane) {
  const auto pixel = [&](int x) {
    return add_columns<known_taps>(row + static_cast<std::ptrdiff_t>(columns.first[x]) * 3,
                                   columns.weights + static_cast<std::ptrdiff_t>(x) * columns.taps,
                                   columns.taps);
  };
  int x = 0;
  for (; x + 4 <= width; x += 4) {
    store_pixels(pixel(x), pixel(x + 1), pixel(x + 2), pixel(x + 3), output + x, plane);
  }
  for (; x < width; ++x) {
    alignas(16) std::int32_t channels[4];
    hn::Store(pixel(x), wide, channels);
    for (std::size_t c = 0; c < 3; ++c) {
      output[c * plane + static_cast<std::size_t>(x)] = static_cast<std::uint8_t>(channels[c]);
    }
  }
}

void add_few(const std::uint8_t* input, std::size_t count, const std::int16_t* weights, int taps,
             std::int16_t* output) {
  for (std::size_t i = 0; i < count; ++i) {
    std::int32_t sum = 1 << (first_shift - 1);
    for (int k = 0; k < taps; ++k)
      sum += std::int32_t{weights[k]} * input[static_cast<std::size_t>(k) * count + i];
    output[i] = static_cast<std::int16_t>(sum >> first_shift);
  }
}

}  // namespace

void add_rows(const std::uint8_t* input, std::size_t count, const std::int16_t* weights, int taps,
              std::int16_t* output) {
  if (count < hn::Lanes(row_tag)) {
    add_few(input, count, weights, taps, output);
  } else if (taps == 2) {
    add_blocks<2>(input, count, weights, taps, output);
  } else if (taps == 3) {
    add_blocks<3>(input, count, weights, taps, output);
  } else {
    add_blocks<0>(input, count, weights, taps, output);
  }
}

void resize_colour_row(const std::int16_t* row, const ColumnWeights& columns, int width, std::uint8_t* output,
                       std::size_t plane) {
  if (columns.taps == 2) {
    resize_columns<2>(row, columns, width, output, plane);
  } else if (columns.taps == 4) {
    resize_columns<4>(row, columns, width, output, plane);
  } else {
    resize_columns<0>(row, columns, width, output, plane);
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
