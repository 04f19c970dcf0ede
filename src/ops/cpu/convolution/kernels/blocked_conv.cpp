#include "ops/cpu/convolution/kernels/blocked_conv.h"

#include "ops/cpu/convolution/kernels/region.h"
#include "ops/cpu/kernels/vectors.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {
namespace {

/// Output channels of a register block: registers hold tile_outputs x tile_pixels sums, one vector per pixel,
/// and one weight.
constexpr int tile_outputs = many_registers ? 8 : 4;

/// Pixels of a later tile, at the next input channel to prefetch. They are prefetched into the L2 cache while
/// earlier tiles are computed.
struct UpcomingPixels {
  const float* pixel[tile_pixels];
  int pixels;
  std::size_t plane;  ///< stride of input channels, in floats
  int channels;       ///< number of channels to prefetch
};

/// Prefetches the pixels of `channels` more channels.
HWY_INLINE void prefetch_channels(UpcomingPixels& next, int channels) {
  for (int i = smaller(channels, next.channels); i > 0; --i, --next.channels) {
    for (int p = 0; p < next.pixels; ++p) {
      __builtin_prefetch(next.pixel[p], 0, 2);
      next.pixel[p] += next.plane;
    }
  }
}

/// Pixels of a tile where they are stored.
struct StoredTile {
  const float* data;           ///< first input channel
  std::size_t plane;           ///< stride of input channels, in floats
  const std::int32_t* places;  ///< of the first tap: see BlockedConv
  int tap_step;                ///< stride of taps in `places`
  int taps;
};

/// Contribution of some input channels to a tile, for one part of the images.
struct Tile {
  const float* weight;         ///< [source and tap][8]
  const float* bias;           ///< bias of the first output; null: zeros
  float* pixel;                ///< packed pixels of this part: [source and tap][pixel][width]
  StoredTile stored;           ///< the same pixels, for a tile that packs them
  UpcomingPixels* upcoming;    ///< prefetched during the products
  int channels_at_once;        ///< number of upcoming channels to prefetch together
  float* target;               ///< address of the first output
  const std::size_t* offsets;  ///< offset of each pixel in the target, in floats
  std::size_t target_plane;    ///< in floats
  int depth;                   ///< sources x taps
  int outputs;                 ///< number of existing outputs, at most OB
  bool first;                  ///< whether sums start from the bias instead of the target's values
};

template <int OB, int P>
HWY_INLINE void start_sums(const Tile& task, Vector (&sum)[OB][P]) {
  LOCKSTEP_UNROLL for (int o = 0; o < OB; ++o) {
    const bool exists = o < task.outputs;
    const bool bias = task.first && task.bias != nullptr && exists;
    const Vector start = bias ? hn::Set(floats, task.bias[o]) : hn::Zero(floats);
    LOCKSTEP_UNROLL for (int p = 0; p < P; ++p) {
      sum[o][p] = task.first || !exists
                      ? start
                      : hn::Load(floats, task.target + task.offsets[p] + o * task.target_plane);
    }
  }
}

/// Pixels of a tile, packed as [source and tap][pixel][width].
template <int P>
struct PackedPixels {
  const float* packed;

  explicit PackedPixels(const Tile& task) : packed(task.pixel) {}

  HWY_INLINE Vector read(int p) const { return hn::Load(floats, packed + p * width); }
  HWY_INLINE void next() { packed += P * width; }
};

/// Pixels of a tile where they are stored, for the first part of the images. Reading a pixel packs all its
/// parts, for later calls.
template <int P>
struct StoredPixels {
  StoredTile stored;
  const std::int32_t* places;
  int taps_left;
  float* packed;
  std::size_t part_step;

  explicit StoredPixels(const Tile& task)
      : stored(task.stored),
        places(task.stored.places),
        taps_left(task.stored.taps),
        packed(task.pixel),
        part_step(static_cast<std::size_t>(task.depth) * P * width) {}

  HWY_INLINE Vector read(int p) const {
    const float* from = stored.data + pixels(static_cast<std::size_t>(places[p]));
    LOCKSTEP_UNROLL for (int part = 1; part < parts; ++part) {
      hn::Store(hn::Load(floats, from + part * width), floats, packed + p * width + part * part_step);
    }
    const Vector first = hn::Load(floats, from);
    hn::Store(first, floats, packed + p * width);
    return first;
  }
  HWY_INLINE void next() {
    packed += P * width;
    places += stored.tap_step;
    if (--taps_left == 0) {
      taps_left = stored.taps;
      places = stored.places;
      stored.data += stored.plane;
    }
  }
};

/// Prefetches the addresses of output `o`, if they are written for the first time.
template <int P>
HWY_INLINE void prefetch_outputs(const Tile& task, int o) {
  if (!task.first || o >= task.outputs) return;
  for (int p = 0; p < P; ++p) __builtin_prefetch(task.target + task.offsets[p] + o * task.target_plane, 1, 2);
}

/// Computes a tile of P pixels.
template <int OB, int P, template <int> class Pixels>
HWY_NOINLINE void output_tile(const Tile& task) {
  Vector sum[OB][P];
  start_sums<OB, P>(task, sum);
  const float* weight = task.weight;
  Pixels<P> source(task);
  for (int next = 0, d = 0; next < OB; ++next) {
    prefetch_outputs<P>(task, next);
    prefetch_channels(*task.upcoming, task.channels_at_once);
    for (const int end = task.depth * (next + 1) / OB; d < end; ++d, weight += packed_block, source.next()) {
      Vector pixel[P];
      LOCKSTEP_UNROLL for (int p = 0; p < P; ++p) { pixel[p] = source.read(p); }
      LOCKSTEP_UNROLL for (int o = 0; o < OB; ++o) {
        const Vector factor = hn::Set(floats, weight[o]);
        LOCKSTEP_UNROLL for (int p = 0; p < P; ++p) { sum[o][p] = hn::MulAdd(pixel[p], factor, sum[o][p]); }
      }
    }
  }
  LOCKSTEP_UNROLL for (int o = 0; o < OB; ++o) {
    if (o < task.outputs) {
      LOCKSTEP_UNROLL for (int p = 0; p < P; ++p) {
        hn::Store(sum[o][p], floats, task.target + task.offsets[p] + o * task.target_plane);
      }
    }
  }
}

using TileFunction = void (*)(const Tile&);

template <template <int> class Pixels>
TileFunction tile_function(int count) {
  return count == 3   ? output_tile<tile_outputs, 3, Pixels>
         : count == 2 ? output_tile<tile_outputs, 2, Pixels>
                      : output_tile<tile_outputs, 1, Pixels>;
}

/// Number of pixels in the next tile: three if possible, but two if four or two are left.
int next_count(int left) { return left == 4 || left == 2 ? 2 : left >= 3 ? 3 : 1; }

/// A block of pixels, divided into tiles.
struct PixelBlock {
  int first;
  int tiles;
  int begin[packed_pixels / tile_pixels + 2];  ///< of each tile, relative to `first`; then the end
};

PixelBlock block_of(int first, int end) {
  PixelBlock block{first, 0, {0}};
  for (int p = 0; first + p < end;) {
    p += next_count(end - first - p);
    block.begin[++block.tiles] = p;
  }
  return block;
}

/// Input or output channels [first, first + count).
struct Channels {
  int first, count;
};

/// Copies P pixels of a plane, with masks applied, to [part][depth][P][width].
template <int P>
HWY_INLINE void pack_tile(const PixelPlanes& planes, std::size_t plane, const std::int32_t* places, int depth,
                          float* target) {
  const std::size_t part_step = static_cast<std::size_t>(depth) * P * width;
  std::int32_t missing = 0;  // negative if at least one pixel is outside
  LOCKSTEP_UNROLL for (int p = 0; p < P; ++p) { missing |= places[p]; }
  if (missing >= 0 && planes.masks == nullptr) {
    LOCKSTEP_UNROLL for (int p = 0; p < P; ++p) {
      const float* source = planes.data + pixels(plane + static_cast<std::size_t>(places[p]));
      LOCKSTEP_UNROLL for (int part = 0; part < parts; ++part) {
        hn::Store(hn::Load(floats, source + part * width), floats, target + p * width + part * part_step);
      }
    }
    return;
  }
  for (int p = 0; p < P; ++p) {
    HWY_ALIGN float pixel[lanes] = {};
    if (places[p] >= 0) copy_pixel(planes, plane + static_cast<std::size_t>(places[p]), pixel);
    LOCKSTEP_UNROLL for (int part = 0; part < parts; ++part) {
      hn::Store(hn::Load(floats, pixel + part * width), floats, target + p * width + part * part_step);
    }
  }
}

/// Packs the pixels that a tile reads, for all parts: [part][source][tap][pixel][width].
void pack_sources(const BlockedConv& task, const PixelBlock& block, const Channels& sources, int t,
                  float* target) {
  const int depth = sources.count * task.taps;
  const int begin = block.begin[t];
  const int count = block.begin[t + 1] - begin;
  for (int c = 0; c < sources.count; ++c) {
    const std::size_t plane =
        static_cast<std::size_t>(sources.first + c) * task.source.height * task.source.width;
    const std::int32_t* places = task.source_places + block.first + begin;
    for (int tap = 0; tap < task.taps; ++tap, places += task.pixels, target += count * width) {
      count == 3   ? pack_tile<3>(task.source, plane, places, depth, target)
      : count == 2 ? pack_tile<2>(task.source, plane, places, depth, target)
                   : pack_tile<1>(task.source, plane, places, depth, target);
    }
  }
}

/// Size of an input channel.
std::size_t plane_floats(const PixelPlanes& planes) {
  return pixels(static_cast<std::size_t>(planes.height) * planes.width);
}

/// Whether tiles can read a tile's pixels where they are stored.
bool readable_as_stored(const BlockedConv& task, int first, int count) {
  if (task.source.masks != nullptr) return false;
  const std::int32_t* places = task.source_places + first;
  for (int tap = 0; tap < task.taps; ++tap, places += task.pixels) {
    for (int p = 0; p < count; ++p) {
      if (places[p] < 0) return false;
    }
  }
  return true;
}

/// Pixels to prefetch while `outputs` of tile `t` are computed. If these are all outputs: the pixels of the
/// next tile, which may be the first tile in the next input channels, block or task. Otherwise: a part of the
/// pixels that tile `t` reads in the next input channels, block or task. None if there are several taps:
/// later tiles then read mostly the same pixels.
UpcomingPixels upcoming(const BlockedConv& task, const PixelBlock& block, const Channels& sources, int t,
                        const Channels& outputs) {
  UpcomingPixels next{};
  int first = block.first + block.begin[t];
  int channel = sources.first;
  const bool at_once = outputs.count == task.targets;
  if (at_once && t + 1 < block.tiles) {
    first = block.first + block.begin[t + 1];
  } else {
    if (at_once) first = block.first;
    channel += sources.count;
    if (channel >= task.source.channels) {
      channel = 0;
      first += block.begin[block.tiles];
    }
  }
  const int end = task.pixels + task.pixels_to_come;
  if (task.taps > 1 || first >= end) return next;
  const int channels = smaller(sources.count, task.source.channels - channel);
  const int from = channels * outputs.first / task.targets;
  next.pixels = smaller(tile_pixels, end - first);
  next.plane = plane_floats(task.source);
  for (int p = 0; p < next.pixels; ++p) {
    const std::int32_t place = larger(task.source_places[first + p], 0);  // any pixel if it is outside
    next.pixel[p] =
        task.source.data + (channel + from) * next.plane + pixels(static_cast<std::size_t>(place));
  }
  next.channels = channels * (outputs.first + outputs.count) / task.targets - from;
  return next;
}

/// Computes output channels `outputs` of one of the block's tiles.
void outputs_of_tile(const BlockedConv& task, const PixelBlock& block, const Channels& sources, int t,
                     const Channels& outputs) {
  const int begin = block.begin[t];
  const int count = block.begin[t + 1] - begin;
  const std::size_t filter = static_cast<std::size_t>(task.source.channels) * task.taps;
  const float* packed = task.packed + static_cast<std::size_t>(sources.first) * task.taps * packed_block;
  std::size_t offsets[tile_pixels];
  for (int p = 0; p < count; ++p) {
    offsets[p] = pixels(static_cast<std::size_t>(task.target_places[block.first + begin + p]));
  }
  Tile tile{};
  tile.offsets = offsets;
  tile.target_plane = pixels(task.target_plane);
  tile.depth = sources.count * task.taps;
  tile.first = sources.first == 0;
  tile.pixel = task.scratch + pixels(static_cast<std::size_t>(begin) * tile.depth);
  TileFunction function = tile_function<PackedPixels>(count);
  UpcomingPixels next = upcoming(task, block, sources, t, outputs);
  if (outputs.first == 0) {
    if (readable_as_stored(task, block.first + begin, count)) {
      const std::size_t plane = plane_floats(task.source);
      tile.stored = {task.source.data + sources.first * plane, plane,
                     task.source_places + block.first + begin, task.pixels, task.taps};
      function = tile_function<StoredPixels>(count);
    } else {
      pack_sources(task, block, sources, t, tile.pixel);
    }
  }
  tile.upcoming = &next;
  const int calls = (outputs.count + tile_outputs - 1) / tile_outputs * parts;
  tile.channels_at_once = (next.channels + calls * tile_outputs - 1) / (calls * tile_outputs);
  for (int part = 0; part < parts; ++part, tile.pixel += tile.depth * count * width) {
    const int end = outputs.first + outputs.count;
    for (int o = outputs.first; o < end; o += tile_outputs) {
      tile.outputs = smaller(tile_outputs, end - o);
      tile.weight = packed + filter * (o / packed_block * packed_block) + o % packed_block;
      tile.bias = task.bias == nullptr ? nullptr : task.bias + o;
      tile.target = task.target + o * tile.target_plane + part * width;
      function(tile);
      function = tile_function<PackedPixels>(count);
    }
  }
}

/// Number of targets that are computed together for all pixels of a block. With few products, writing takes
/// longer than computing, so few planes are written at a time, each contiguously. Otherwise, the pixels of a
/// tile are used for many targets while they are in the first-level cache.
int targets_at_once(const ConvBlocking& blocking, int products) {
  constexpr int few = 64;
  return products <= few ? tile_outputs : blocking.targets;
}

void run_block(const BlockedConv& task, const PixelBlock& block) {
  const ConvBlocking& blocking = task.blocking;
  for (int c = 0; c < task.source.channels; c += blocking.sources) {
    const Channels sources{c, smaller(blocking.sources, task.source.channels - c)};
    const int targets = targets_at_once(blocking, sources.count * task.taps);
    for (int o = 0; o < task.targets; o += targets) {
      for (int t = 0; t < block.tiles; ++t) {
        outputs_of_tile(task, block, sources, t, {o, smaller(targets, task.targets - o)});
      }
    }
  }
}

using PackedFloats = hn::CappedTag<float, packed_block>;

/// Packs the filters of whole blocks of targets, source by source. ADJACENT: whether targets are adjacent in
/// memory. Rows of several blocks are read together. Later rows are prefetched explicitly, because rows are
/// pages apart and the hardware does not prefetch across pages.
template <bool ADJACENT>
void pack_blocks(const PackWeights& task, int blocks, const float* weight, float* packed) {
  constexpr int rows_ahead = 4;
  constexpr PackedFloats d;
  constexpr hn::RebindToSigned<PackedFloats> indices;
  const auto stride = static_cast<std::int32_t>(task.target_stride);
  const auto offsets = hn::Mul(hn::Iota(indices, 0), hn::Set(indices, stride));
  const std::size_t step = static_cast<std::size_t>(task.tap_count) * packed_block;
  const std::size_t row = blocks * packed_block * task.target_stride;  // floats
  for (int source = 0; source < task.sources; ++source, weight += task.source_stride, packed += step) {
    if (blocks > 1 && source + rows_ahead < task.sources) {
      const float* ahead = weight + rows_ahead * task.source_stride;
      for (std::size_t i = 0; i < row; i += lanes) __builtin_prefetch(ahead + i);
    }
    for (int block = 0; block < blocks; ++block) {
      const float* filters = weight + block * packed_block * task.target_stride;
      float* to = packed + block * task.sources * step;
      for (int t = 0; t < task.tap_count; ++t) {
        const float* filter = filters + task.taps[t].weight;
        for (int i = 0; i < packed_block; i += static_cast<int>(hn::Lanes(d)), to += hn::Lanes(d)) {
          const float* from = filter + i * task.target_stride;
          hn::Store(ADJACENT ? hn::LoadU(d, from) : hn::GatherIndex(d, from, offsets), d, to);
        }
      }
    }
  }
}

/// Packs the filters of the last targets, with zeros for missing targets.
void pack_last_block(const PackWeights& task, int target, float* packed) {
  for (int source = 0; source < task.sources; ++source) {
    const float* weight = task.weight + static_cast<std::size_t>(source) * task.source_stride;
    for (int t = 0; t < task.tap_count; ++t) {
      for (int i = target; i < target + packed_block; ++i, ++packed) {
        const std::size_t offset = static_cast<std::size_t>(i) * task.target_stride;
        *packed = i < task.targets ? weight[offset + task.taps[t].weight] : 0.0F;
      }
    }
  }
}

}  // namespace

/// Divides the pixels into blocks of about the same number of whole tiles.
void blocked_conv(const BlockedConv& task) {
  const int tiles = (task.pixels + tile_pixels - 1) / tile_pixels;
  const int blocks = (task.pixels + task.blocking.pixels - 1) / task.blocking.pixels;
  const auto begin = [&](int block) {
    const auto first = static_cast<std::int64_t>(block) * tiles / blocks * tile_pixels;
    return smaller(static_cast<int>(first), task.pixels);
  };
  for (int i = 0; i < blocks; ++i) run_block(task, block_of(begin(i), begin(i + 1)));
}

void pack_weights(const PackWeights& task) {
  const auto pack = task.target_stride == 1 ? pack_blocks<true> : pack_blocks<false>;
  const int at_once = task.target_stride < task.source_stride ? 8 : 1;  // blocks
  const std::size_t depth = static_cast<std::size_t>(task.sources) * task.tap_count;
  const int whole = task.targets / packed_block;
  for (int block = 0; block < whole; block += at_once) {
    const int target = block * packed_block;
    pack(task, smaller(at_once, whole - block), task.weight + target * task.target_stride,
         task.packed + depth * target);
  }
  const int target = whole * packed_block;
  if (target < task.targets) pack_last_block(task, target, task.packed + depth * target);
}

const BlockedConvKernels blocked_conv_kernels{.pack_weights = pack_weights,
                                              .conv = blocked_conv,
                                              .weights = blocked_conv_weights,
                                              .unpack_weight_sums = unpack_weight_sums,
                                              .weights_scratch = blocked_conv_weights_scratch};

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
