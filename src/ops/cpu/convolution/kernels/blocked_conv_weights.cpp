#include "ops/cpu/convolution/kernels/blocked_conv.h"
#include "ops/cpu/convolution/kernels/region.h"
#include "ops/cpu/kernels/transpose.h"
#include "ops/cpu/kernels/vectors.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {
namespace {

/// Maximum number of factors that are gathered at once. A factor is a channel and a tap.
constexpr int max_factors = 12;
/// Number of lane channels in a register block. The channels' transposed pixels are stored together, so that
/// the block reads whole cache lines in order.
constexpr int lane_block = 2 * width;
static_assert(sum_lanes % lane_block == 0);

/// Consecutive grid pixels.
struct Stretch {
  int count;
  int row[weight_pixels];
  int column[weight_pixels];
};

/// Copies channels [first, first + width) of a pixel with masks applied; missing channels are zeros.
void copy_channels(const PixelPlanes& planes, int first, std::size_t pixel, float* target) {
  const std::size_t plane = static_cast<std::size_t>(planes.height) * planes.width;
  for (int i = 0; i < width; ++i) {
    if (first + i < planes.channels) {
      copy_pixel(planes, plane * (first + i) + pixel, target + pixels(i));
    } else {
      clear(target + pixels(i), lanes);
    }
  }
}

/// Transposes the pixels of all lane channels to [block of channels][pixel][image][lane_block channels].
void transpose_stretch(const BlockedConvWeights& task, const Stretch& stretch, float* target) {
  const PixelPlanes& planes = task.lane;
  const std::size_t plane = pixels(static_cast<std::size_t>(planes.height) * planes.width);
  const std::size_t block = pixels(stretch.count) * lane_block;
  HWY_ALIGN float copied[width * lanes];
  const int end = static_cast<int>(weight_sums_width(planes.channels));
  for (int c = 0; c < end; c += width) {
    float* to = target + block * (c / lane_block) + c % lane_block;
    const bool direct = planes.masks == nullptr && c + width <= planes.channels;
    for (int p = 0; p < stretch.count; ++p) {
      const std::size_t pixel = static_cast<std::size_t>(stretch.row[p]) * task.lane_step * planes.width +
                                static_cast<std::size_t>(stretch.column[p]) * task.lane_step;
      if (!direct) {
        copy_channels(planes, c, pixel, copied);
      }
      const float* rows = direct ? planes.data + plane * c + pixels(pixel) : copied;
      for (int image = 0; image < lanes; image += 4, to += 4 * lane_block) {
        Vector columns[4];
        load_columns(rows + image, direct ? plane : pixels(1), columns);
        LOCKSTEP_UNROLL for (int k = 0; k < 4; ++k) { hn::Store(columns[k], floats, to + k * lane_block); }
      }
    }
  }
}

/// Pixels of a factor's plane that one tap reads for a stretch of the grid.
struct TapPixels {
  const ConvTap* tap;
  bool inside;  ///< whether all pixels are inside the plane
  std::size_t pixel[weight_pixels];
};
constexpr std::size_t outside = static_cast<std::size_t>(-1);

TapPixels find_pixels(const BlockedConvWeights& task, const Stretch& stretch, const ConvTap& tap) {
  const PixelPlanes& planes = task.factor;
  TapPixels where;
  where.tap = &tap;
  where.inside = true;
  for (int p = 0; p < stretch.count; ++p) {
    const int row = stretch.row[p] * task.factor_step + tap.row;
    const int column = stretch.column[p] * task.factor_step + tap.column;
    const bool inside = row >= 0 && row < planes.height && column >= 0 && column < planes.width;
    where.inside = where.inside && inside;
    where.pixel[p] = inside ? static_cast<std::size_t>(row) * planes.width + column : outside;
  }
  return where;
}

/// Gathers a channel's pixels to [pixel][12][16].
void gather_factor(const PixelPlanes& planes, int channel, const TapPixels& where, int count, float* target) {
  const std::size_t first = static_cast<std::size_t>(channel) * planes.height * planes.width;
  if (where.inside && planes.masks == nullptr) {
    const float* plane = planes.data + pixels(first);
    for (int p = 0; p < count; ++p, target += pixels(max_factors)) {
      LOCKSTEP_UNROLL for (int part = 0; part < parts; ++part) {
        const Vector value = hn::Load(floats, plane + pixels(where.pixel[p]) + part * width);
        hn::Store(value, floats, target + part * width);
      }
    }
    return;
  }
  for (int p = 0; p < count; ++p, target += pixels(max_factors)) {
    if (where.pixel[p] == outside) {
      clear(target, lanes);
    } else {
      copy_pixel(planes, first + where.pixel[p], target);
    }
  }
}

/// Gathers the pixels of factors [first, first + count) to [pixel][12][16]; missing factors are zeros.
/// `where` may hold the pixels of any tap; afterwards, it holds the pixels of the last factor's tap.
void gather_factors(const BlockedConvWeights& task, const Stretch& stretch, int first, int count,
                    TapPixels& where, float* target) {
  for (int i = 0; i < count; ++i, target += lanes) {
    const int channel = (first + i) / task.tap_count;
    if (channel >= task.factor.channels) {
      for (int p = 0; p < stretch.count; ++p) clear(target + pixels(p * max_factors), lanes);
      continue;
    }
    const ConvTap& tap = task.taps[(first + i) % task.tap_count];
    if (where.tap != &tap) where = find_pixels(task, stretch, tap);
    gather_factor(task.factor, channel, where, stretch.count, target);
  }
}

/// Pixels that are needed next. They are prefetched into the L2 cache while tiles are computed; each tile
/// prefetches some of the factors.
struct Upcoming {
  const float* data;  ///< address of the first factor's pixel
  std::size_t plane;  ///< stride of factors
  std::size_t pixel;  ///< stride of pixels
  int first, end;     ///< factors that the tile prefetches

  HWY_INLINE void next_pixel() {
    for (int i = first; i < end; ++i) __builtin_prefetch(data + i * plane, 0, 2);
    data += pixel;
  }
};

/// Factors that a tile gathers itself, before it reads them.
struct StoredFactors {
  const float* data;         ///< address of the first factor's plane; null: gathered already
  std::size_t plane;         ///< stride of factors
  const std::size_t* pixel;  ///< position of each of the band's pixels in a plane
};

/// Gathers a pixel of `count` factors.
HWY_INLINE void gather_pixel(const StoredFactors& stored, int pixel, int count, float* target) {
  const float* from = stored.data + pixels(stored.pixel[pixel]);
  for (int i = 0; i < count; ++i, from += stored.plane, target += lanes) {
    LOCKSTEP_UNROLL for (int part = 0; part < parts; ++part) {
      hn::Store(hn::Load(floats, from + part * width), floats, target + part * width);
    }
  }
}

/// Sums of a tile, in rows `row` floats apart.
struct TileSums {
  float* data;
  std::size_t row;
  bool add;  ///< whether to add to existing sums instead of starting from zero
};

/// Prefetches a row of sums.
HWY_INLINE void prefetch_sums(const float* sums, int lane_count) {
  for (int l = 0; l < lane_count; l += lanes) __builtin_prefetch(sums + l);
}

/// Adds up a band's products of FB factors x VB vectors of lanes.
template <int FB, int VB>
HWY_NOINLINE void tile(int pixel_count, const float* lane, float* factor, const TileSums& sums,
                       const StoredFactors& stored, Upcoming next) {
  Vector sum[FB][VB];
  LOCKSTEP_UNROLL for (int i = 0; i < FB; ++i) {
    LOCKSTEP_UNROLL for (int v = 0; v < VB; ++v) { sum[i][v] = hn::Zero(floats); }
  }
  for (int p = 0; p < pixel_count; ++p, factor += pixels(max_factors)) {
    if (p < FB) prefetch_sums(sums.data + p * sums.row, VB * width);
    if (stored.data != nullptr) gather_pixel(stored, p, FB, factor);
    next.next_pixel();
    for (int image = 0; image < lanes; ++image, lane += lane_block) {
      Vector values[VB];
      LOCKSTEP_UNROLL for (int v = 0; v < VB; ++v) { values[v] = hn::Load(floats, lane + v * width); }
      LOCKSTEP_UNROLL for (int i = 0; i < FB; ++i) {
        const Vector value = hn::Set(floats, factor[pixels(i) + image]);
        LOCKSTEP_UNROLL for (int v = 0; v < VB; ++v) { sum[i][v] = hn::MulAdd(values[v], value, sum[i][v]); }
      }
    }
  }
  LOCKSTEP_UNROLL for (int i = 0; i < FB; ++i) {
    LOCKSTEP_UNROLL for (int v = 0; v < VB; ++v) {
      float* target = sums.data + i * sums.row + v * width;
      const Vector before = sums.add ? hn::LoadU(floats, target) : hn::Zero(floats);
      hn::StoreU(hn::Add(before, sum[i][v]), floats, target);
    }
  }
}

/// Adds up a band's products of `count` factors (12, 8 or 4) x VB vectors of lanes.
template <int VB>
void factors_of_tile(int count, int pixel_count, const float* lane, float* factor, TileSums sums,
                     StoredFactors stored, Upcoming next) {
  constexpr int large = many_registers ? 12 : 6;
  constexpr int small = many_registers ? 8 : 4;
  const int block = count == 12 ? large : count == 8 ? small : 4;
  for (int i = 0; i < count; i += block) {
    block == large   ? tile<large, VB>(pixel_count, lane, factor, sums, stored, next)
    : block == small ? tile<small, VB>(pixel_count, lane, factor, sums, stored, next)
                     : tile<4, VB>(pixel_count, lane, factor, sums, stored, next);
    factor += pixels(block);
    sums.data += block * sums.row;
    if (stored.data != nullptr) stored.data += block * stored.plane;
    next.first = next.end;
  }
}

/// Number of factors to gather next: 12, or 8 or 4 near the end.
int next_factors(int left) { return left == 16 ? 8 : left >= 12 ? 12 : left > 4 ? 8 : 4; }
static_assert(sum_factors == 4 && max_factors % sum_factors == 0);

Stretch stretch_of(const BlockedConvWeights& task, int begin, int end) {
  Stretch stretch;
  stretch.count = end - begin;
  for (int p = 0; p < stretch.count; ++p) {
    stretch.row[p] = (begin + p) / task.columns;
    stretch.column[p] = (begin + p) % task.columns;
  }
  return stretch;
}

/// Factors that are added together, and the stretch that they belong to.
struct Factors {
  int first, count;
  int stretch;           ///< pixels of the stretch
  StoredFactors stored;  ///< at the first pixel of the stretch
  Upcoming upcoming;     ///< all factors to prefetch, at the first pixel of the stretch
};

/// Adds up a band: pixels [begin, end) of the stretch, for all lanes.
void add_band(const BlockedConvWeights& task, const Factors& factors, std::size_t begin, std::size_t end,
              bool add) {
  const float* transposed = task.scratch + pixels(weight_pixels * max_factors) + pixels(begin) * lane_block;
  float* gathered = task.scratch + pixels(begin * max_factors);
  const std::size_t row = weight_sums_width(task.lane.channels);
  const auto pixel_count = static_cast<int>(end - begin);
  StoredFactors stored = factors.stored;
  stored.pixel += begin;
  Upcoming next = factors.upcoming;
  next.data += begin * next.pixel;
  const int channels = task.lane.channels;
  for (int l = 0; l < channels; l += lane_block, stored.data = nullptr) {
    next.first = factors.upcoming.end * l / channels;
    next.end = factors.upcoming.end * smaller(l + lane_block, channels) / channels;
    const auto add_factors = channels - l > width ? factors_of_tile<2> : factors_of_tile<1>;
    add_factors(factors.count, pixel_count, transposed + pixels(factors.stretch) * l, gathered,
                {task.sums + row * factors.first + l, row, add}, stored, next);
  }
}

/// Factors [first, first + count) where they are stored, at pixels `where`; null if gather_factors() must
/// gather them first, because there are several taps, masks or missing values.
StoredFactors stored_factors(const BlockedConvWeights& task, const TapPixels& where, int first, int count) {
  const PixelPlanes& planes = task.factor;
  const bool stored =
      task.tap_count == 1 && where.inside && planes.masks == nullptr && first + count <= planes.channels;
  const std::size_t plane = pixels(static_cast<std::size_t>(planes.height) * planes.width);
  return {stored ? planes.data + first * plane : nullptr, plane, where.pixel};
}

/// Chooses what to prefetch while `factors` are added: with prefetch_next_bands, the same factors of the next
/// stretch, else the next factors of this stretch. Nothing if a factor's pixels are not contiguous in memory.
void choose_upcoming(const BlockedConvWeights& task, const TapPixels& where, Factors& factors) {
  const PixelPlanes& planes = task.factor;
  const int first = factors.first + (task.prefetch_next_bands ? 0 : factors.count);
  const std::size_t pixel = where.pixel[0] + (task.prefetch_next_bands ? factors.stretch : 0);
  const std::size_t plane = static_cast<std::size_t>(planes.height) * planes.width;
  const bool contiguous = task.tap_count == 1 && task.factor_step == 1 && where.inside;
  factors.upcoming = {task.scratch, 0, 0, 0, 0};
  if (!contiguous || first >= planes.channels || pixel + factors.stretch > plane) return;
  const int count = smaller(task.prefetch_next_bands ? factors.count : max_factors, planes.channels - first);
  factors.upcoming = {planes.data + pixels(plane * first + pixel), pixels(plane), lanes, 0, count};
}

/// Offsets of the weights of consecutive factors, relative to a lane's first weight.
struct FactorPlaces {
  int count;
  std::size_t offset[lanes];
  bool consecutive;
};

FactorPlaces places_of(const UnpackWeightSums& task, int first) {
  FactorPlaces places;
  places.count = smaller(lanes, task.factors * task.tap_count - first);
  places.consecutive = places.count == lanes;
  int channel = first / task.tap_count;
  int tap = first % task.tap_count;
  for (int i = 0; i < places.count; ++i) {
    places.offset[i] = static_cast<std::size_t>(channel) * task.factor_stride + task.taps[tap].weight;
    places.consecutive = places.consecutive && places.offset[i] == places.offset[0] + i;
    if (++tap == task.tap_count) {
      tap = 0;
      ++channel;
    }
  }
  return places;
}

/// Unpacks 16 lanes, of which `count` exist, for the factors at `places`. Copies the sums first, so that each
/// cache line is read once: rows may be a multiple of 4 KB apart, and then their lines evict each other.
void unpack_lanes(const FactorPlaces& places, const float* sums, std::size_t row, int count, float* weight,
                  std::size_t lane_stride) {
  HWY_ALIGN float copied[lanes][lanes];
  for (int i = 0; i < lanes; ++i, sums += row) {
    for (int l = 0; l < lanes; l += width) hn::Store(hn::Load(floats, sums + l), floats, copied[i] + l);
  }
  for (int l = 0; l < count; l += 4) {
    HWY_ALIGN float columns[4][lanes];
    for (int i = 0; i < lanes; i += width) {
      Vector column[4];
      load_columns(copied[i] + l, lanes, column);
      LOCKSTEP_UNROLL for (int k = 0; k < 4; ++k) { hn::Store(column[k], floats, columns[k] + i); }
    }
    for (int k = 0; k < smaller(4, count - l); ++k, weight += lane_stride) {
      if (places.consecutive) {
        for (int i = 0; i < lanes; i += width) {
          hn::StoreU(hn::Load(floats, columns[k] + i), floats, weight + places.offset[0] + i);
        }
        continue;
      }
      for (int i = 0; i < places.count; ++i) weight[places.offset[i]] = columns[k][i];
    }
  }
}

}  // namespace

std::size_t blocked_conv_weights_scratch(int lane_channels) {
  return pixels(weight_pixels) * (max_factors + weight_sums_width(lane_channels));
}

void blocked_conv_weights(const BlockedConvWeights& task) {
  const int grid = task.rows * task.columns;
  const int factors = task.factor.channels * task.tap_count;
  const int at_once = larger(1, smaller(weight_pixels, task.pixels_at_once) / band_pixels);
  for (int first = task.first_band; first < task.end_band; first += at_once) {
    const int last = smaller(first + at_once, task.end_band);
    const int start = begin_of_band(grid, first);
    const Stretch stretch = stretch_of(task, start, begin_of_band(grid, last));
    transpose_stretch(task, stretch, task.scratch + pixels(weight_pixels * max_factors));
    TapPixels where = find_pixels(task, stretch, task.taps[0]);
    for (int f = 0; f < factors;) {
      const int next = next_factors(factors - f);
      Factors together{f, next, stretch.count, stored_factors(task, where, f, next), {}};
      if (together.stored.data == nullptr) gather_factors(task, stretch, f, next, where, task.scratch);
      choose_upcoming(task, where, together);
      for (int band = first; band < last; ++band) {
        add_band(task, together, static_cast<std::size_t>(begin_of_band(grid, band) - start),
                 static_cast<std::size_t>(begin_of_band(grid, band + 1) - start),
                 task.add || band > task.first_band);
      }
      f += next;
    }
  }
}

void unpack_weight_sums(const UnpackWeightSums& task) {
  constexpr int together = 64;  // lanes whose rows of weights are written side by side
  const std::size_t row = weight_sums_width(task.lanes);
  const int factors = task.factors * task.tap_count;
  for (int lane = 0; lane < task.lanes; lane += together) {
    const int end = smaller(lane + together, task.lanes);
    for (int first = 0; first < factors; first += lanes) {
      const float* sums = task.sums + row * first;
      if (first + 2 * lanes <= factors) {
        for (int i = 0; i < lanes; ++i) prefetch_sums(sums + row * (lanes + i) + lane, end - lane);
      }
      const FactorPlaces places = places_of(task, first);
      for (int l = lane; l < end; l += lanes) {
        unpack_lanes(places, sums + l, row, smaller(lanes, end - l),
                     task.weight + static_cast<std::size_t>(l) * task.lane_stride, task.lane_stride);
      }
    }
  }
}

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
