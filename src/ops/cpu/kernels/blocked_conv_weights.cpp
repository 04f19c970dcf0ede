#include "ops/cpu/kernels/blocked_conv.h"
#include "ops/cpu/kernels/region.h"
#include "ops/cpu/kernels/tables.h"
#include "ops/cpu/kernels/vectors.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {
namespace {

/// Factors (a channel and a tap) that are gathered at once, and those of a register block.
constexpr int most_factors = 12;
constexpr int factors_in_registers = many_registers ? 12 : 6;
constexpr int tile_lanes = 2 * width;

using Quarter = hn::FixedTag<float, 4>;
constexpr Quarter quarter;

/// Up to band_pixels grid pixels.
struct Band {
  int count;
  int row[band_pixels];
  int column[band_pixels];
};

/// [4 channels][16 images] to [16 images][4 channels], images sum_lanes floats apart.
HWY_INLINE void transpose_four(const float* pixel, float* target) {
  for (int l = 0; l < lanes; l += 4) {
    const auto a = hn::Load(quarter, pixel + l);
    const auto b = hn::Load(quarter, pixel + lanes + l);
    const auto c = hn::Load(quarter, pixel + 2 * lanes + l);
    const auto d = hn::Load(quarter, pixel + 3 * lanes + l);
    const auto ac_low = hn::InterleaveLower(quarter, a, c);
    const auto bd_low = hn::InterleaveLower(quarter, b, d);
    const auto ac_high = hn::InterleaveUpper(quarter, a, c);
    const auto bd_high = hn::InterleaveUpper(quarter, b, d);
    float* row = target + l * sum_lanes;
    hn::Store(hn::InterleaveLower(quarter, ac_low, bd_low), quarter, row);
    hn::Store(hn::InterleaveUpper(quarter, ac_low, bd_low), quarter, row + sum_lanes);
    hn::Store(hn::InterleaveLower(quarter, ac_high, bd_high), quarter, row + 2 * sum_lanes);
    hn::Store(hn::InterleaveUpper(quarter, ac_high, bd_high), quarter, row + 3 * sum_lanes);
  }
}

/// The band's pixels of all lane channels, to [block of 32 channels][pixel][image][32 channels].
void transpose_band(const BlockedConvWeights& task, const Band& band, float* target) {
  const PixelPlanes& planes = task.lane;
  HWY_ALIGN float four[4 * lanes];
  const int end = static_cast<int>(weight_sums_width(planes.channels));
  for (int c = 0; c < end; c += 4) {
    float* block =
        target + pixels(static_cast<std::size_t>(c / sum_lanes) * band.count) * sum_lanes + c % sum_lanes;
    for (int p = 0; p < band.count; ++p) {
      for (int i = 0; i < 4; ++i) {
        if (c + i >= planes.channels) {
          clear_pixels(1, four + pixels(i));
          continue;
        }
        const std::size_t row = static_cast<std::size_t>(c + i) * planes.height +
                                static_cast<std::size_t>(band.row[p]) * task.lane_step;
        copy_pixel(planes, row * planes.width + static_cast<std::size_t>(band.column[p]) * task.lane_step,
                   four + pixels(i));
      }
      transpose_four(four, block + pixels(p) * sum_lanes);
    }
  }
}

/// The band's pixels of factors [first, first + count), to [pixel][12][16]; zeros for those that do not
/// exist.
void gather_factors(const BlockedConvWeights& task, const Band& band, int first, int count, float* target) {
  const PixelPlanes& planes = task.factor;
  for (int i = 0; i < count; ++i) {
    const int channel = (first + i) / task.tap_count;
    const ConvTap& tap = task.taps[(first + i) % task.tap_count];
    for (int p = 0; p < band.count; ++p) {
      float* pixel = target + pixels(p * most_factors + i);
      const int row = band.row[p] * task.factor_step + tap.row;
      const int column = band.column[p] * task.factor_step + tap.column;
      const bool inside = row >= 0 && row < planes.height && column >= 0 && column < planes.width;
      if (channel >= planes.channels || !inside) {
        clear_pixels(1, pixel);
        continue;
      }
      const std::size_t from =
          (static_cast<std::size_t>(channel) * planes.height + row) * planes.width + column;
      copy_pixel(planes, from, pixel);
    }
  }
}

/// FB factors x two vectors of lanes: the band's sum, added to `sums`.
template <int FB>
HWY_NOINLINE void tile(int pixel_count, const float* lane, const float* factor, float* sums,
                       std::size_t row) {
  Vector sum[FB][2];
  LOCKSTEP_UNROLL for (int i = 0; i < FB; ++i) { sum[i][0] = sum[i][1] = hn::Zero(floats); }
  for (int p = 0; p < pixel_count; ++p, factor += pixels(most_factors)) {
    for (int image = 0; image < lanes; ++image, lane += sum_lanes) {
      const Vector low = hn::Load(floats, lane);
      const Vector high = hn::Load(floats, lane + width);
      LOCKSTEP_UNROLL for (int i = 0; i < FB; ++i) {
        const Vector value = hn::Set(floats, factor[pixels(i) + image]);
        sum[i][0] = hn::MulAdd(low, value, sum[i][0]);
        sum[i][1] = hn::MulAdd(high, value, sum[i][1]);
      }
    }
  }
  LOCKSTEP_UNROLL for (int i = 0; i < FB; ++i) {
    float* target = sums + i * row;
    hn::Store(hn::Add(hn::Load(floats, target), sum[i][0]), floats, target);
    hn::Store(hn::Add(hn::Load(floats, target + width), sum[i][1]), floats, target + width);
  }
}

void factors_of_tile(int count, int pixel_count, const float* lane, const float* factor, float* sums,
                     std::size_t row) {
  if constexpr (many_registers) {
    switch (count) {
      case 12:
        return tile<12>(pixel_count, lane, factor, sums, row);
      case 8:
        return tile<8>(pixel_count, lane, factor, sums, row);
      default:
        return tile<4>(pixel_count, lane, factor, sums, row);
    }
  } else if (count == 12) {
    tile<6>(pixel_count, lane, factor, sums, row);
    tile<6>(pixel_count, lane, factor + pixels(6), sums + 6 * row, row);
  } else {
    for (int i = 0; i < count; i += 4) {
      tile<4>(pixel_count, lane, factor + pixels(i), sums + i * row, row);
    }
  }
}

/// 12 factors, or fewer towards the end: 16 are two times 8.
int next_factors(int left) { return left == 16 ? 8 : left >= 12 ? 12 : left > 4 ? 8 : 4; }

void add_band(const BlockedConvWeights& task, const Band& band) {
  float* gathered = task.scratch;
  float* transposed = gathered + pixels(band_pixels * most_factors);
  transpose_band(task, band, transposed);
  const std::size_t row = weight_sums_width(task.lane.channels);
  const std::size_t block = pixels(band.count) * sum_lanes;
  const int factors = task.factor.channels * task.tap_count;
  for (int f = 0; f < factors;) {
    const int count = next_factors(factors - f);
    gather_factors(task, band, f, count, gathered);
    for (std::size_t l = 0; l < row; l += tile_lanes) {
      factors_of_tile(count, band.count, transposed + block * (l / sum_lanes) + l % sum_lanes, gathered,
                      task.sums + row * f + l, row);
    }
    f += count;
  }
}

}  // namespace

std::size_t blocked_conv_weights_scratch(int lane_channels) {
  return pixels(band_pixels) * (most_factors + weight_sums_width(lane_channels));
}

void blocked_conv_weights(const BlockedConvWeights& task) {
  const std::int64_t count = static_cast<std::int64_t>(task.rows) * task.columns;
  const std::int64_t bands = (count + band_pixels - 1) / band_pixels;
  for (std::int64_t b = 0; b < bands; ++b) {
    const std::int64_t begin = b * count / bands;
    Band band;
    band.count = static_cast<int>((b + 1) * count / bands - begin);
    for (int p = 0; p < band.count; ++p) {
      band.row[p] = static_cast<int>((begin + p) / task.columns);
      band.column[p] = static_cast<int>((begin + p) % task.columns);
    }
    add_band(task, band);
  }
}

void unpack_weight_sums(const UnpackWeightSums& task) {
  const std::size_t row = weight_sums_width(task.lanes);
  for (int first = 0; first < task.lanes; first += lanes) {
    const int end = smaller(first + lanes, task.lanes);
    for (int f = 0; f < task.factors; ++f) {
      for (int t = 0; t < task.tap_count; ++t) {
        const float* sums = task.sums + row * (static_cast<std::size_t>(f) * task.tap_count + t);
        float* weight = task.weight + static_cast<std::size_t>(f) * task.factor_stride + task.taps[t].weight;
        for (int l = first; l < end; ++l) {
          weight[static_cast<std::size_t>(l) * task.lane_stride] = sums[l];
        }
      }
    }
  }
}

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
