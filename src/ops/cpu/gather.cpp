#include <algorithm>
#include <array>

#include "ops/cpu/kernels/gather.h"
#include "ops/cpu/op.h"

namespace lockstep::cpu {
namespace {

/// Columns at once, so that a partner's values fit on the stack.
constexpr int most_columns = 64;

/// Columns of one row, as offset into every sample.
struct RowPart {
  std::size_t offset;
  int columns;
  int channel;
};

/// The samples' or the partners' values, of one group.
struct Group {
  std::span<const std::uint8_t* const> images;
  std::span<const float* const> floats;
  int count;
};

void gather_floats(const Group& group, const RowPart& part, float* out) {
  for (int column = 0; column < part.columns; ++column, out += lanes) {
    for (int i = 0; i < lanes; ++i) {
      const bool present = i < group.count;
      out[i] = present
                   ? group.floats[static_cast<std::size_t>(i)][part.offset + static_cast<std::size_t>(column)]
                   : 0.0F;
    }
  }
}

void gather_images(const GatherKernels& kernels, const Group& group, const RowPart& part, float* out) {
  std::array<const std::uint8_t*, lanes> rows{};
  for (std::size_t i = 0; i < static_cast<std::size_t>(group.count); ++i) {
    rows[i] = group.images[i] + part.offset;
  }
  kernels.gather_row(rows.data(), part.columns, out);
}

void gather_part(const GatherKernels& kernels, const Batch& batch, const Group& group, const RowPart& part,
                 float* out) {
  if (group.images.empty()) {
    gather_floats(group, part, out);
  } else {
    gather_images(kernels, group, part, out);
  }
  if (!batch.mean.empty()) {
    const auto channel = static_cast<std::size_t>(part.channel);
    kernels.normalize(static_cast<std::size_t>(part.columns), group.count, batch.mean[channel],
                      batch.deviation[channel], out);
  }
}

void blend_partners(const GatherKernels& kernels, const Batch& batch, const Group& partners,
                    std::span<const float> shares, const RowPart& part, float* out) {
  alignas(64) std::array<float, static_cast<std::size_t>(most_columns * lanes)> others;
  gather_part(kernels, batch, partners, part, others.data());
  std::array<float, lanes> lane_shares{};
  std::copy(shares.begin(), shares.end(), lane_shares.begin());
  kernels.blend(static_cast<std::size_t>(part.columns), lane_shares.data(), others.data(), out);
}

template <class Values>
Values part_of(Values values, std::size_t first, std::size_t count) {
  return values.empty() ? values : values.subspan(first, count);
}

void gather_with(const GatherKernels& kernels, const Batch& batch, int first, Shape source, Shape target,
                 float* out) {
  const auto begin = static_cast<std::size_t>(first);
  const std::size_t count = std::min<std::size_t>(lanes, batch.samples() - begin);
  const Group own{part_of(batch.images, begin, count), part_of(batch.floats, begin, count),
                  static_cast<int>(count)};
  const Group partners{part_of(batch.other_images, begin, count), part_of(batch.other_floats, begin, count),
                       static_cast<int>(count)};
  for (int c = 0; c < target.channels; ++c) {
    for (int r = 0; r < target.height; ++r) {
      const std::size_t row = static_cast<std::size_t>(c * source.height + r) * source.width;
      for (int column = 0; column < target.width; column += most_columns) {
        const RowPart part{row + static_cast<std::size_t>(column),
                           std::min(most_columns, target.width - column), c};
        gather_part(kernels, batch, own, part, out);
        if (!batch.share.empty()) {
          blend_partners(kernels, batch, partners, batch.share.subspan(begin, count), part, out);
        }
        out += static_cast<std::size_t>(part.columns) * lanes;
      }
    }
  }
}

template <Level level>
void gather(const Batch& batch, int first, Shape source, Shape target, float* out) {
  gather_with(gather_kernels(level), batch, first, source, target, out);
}

}  // namespace

GatherGroup gather_group(Level level) {
  switch (level) {
    case Level::avx2:
      return gather<Level::avx2>;
    case Level::avx512:
      return gather<Level::avx512>;
    case Level::neon:
      return gather<Level::neon>;
  }
  return nullptr;
}

}  // namespace lockstep::cpu
