#include <algorithm>
#include <array>

#include "data/feed/micro_batch_rule.h"
#include "ops/cpu/kernels/gather.h"
#include "ops/cpu/op.h"

namespace lockstep::cpu {
namespace {

/// Maximum number of columns gathered at once, so that the partners' values fit on the stack.
constexpr int max_columns = 64;

/// Adjacent columns of one row. Their offset is the same in every sample.
struct RowPart {
  std::size_t offset;
  int columns;
  int channel;
};

/// Addresses of a group's samples, or of their partners.
struct Group {
  std::array<const std::byte*, lanes> samples{};
  int count = 0;
};

void gather_floats(const Group& group, const RowPart& part, float* out) {
  for (std::size_t column = 0; column < static_cast<std::size_t>(part.columns); ++column, out += lanes) {
    for (int i = 0; i < lanes; ++i) {
      const auto* const floats = reinterpret_cast<const float*>(group.samples[static_cast<std::size_t>(i)]);
      out[i] = i < group.count ? floats[part.offset + column] : 0.0F;
    }
  }
}

void gather_pixels(const GatherKernels& kernels, const Group& group, const RowPart& part, float* out) {
  std::array<const std::uint8_t*, lanes> rows{};
  for (std::size_t i = 0; i < static_cast<std::size_t>(group.count); ++i) {
    rows[i] = reinterpret_cast<const std::uint8_t*>(group.samples[i]) + part.offset;
  }
  kernels.gather_row(rows.data(), part.columns, out);
}

void gather_part(const GatherKernels& kernels, const SampleFormat& format, const Group& group,
                 const RowPart& part, float* out) {
  if (format.floats) {
    gather_floats(group, part, out);
  } else {
    gather_pixels(kernels, group, part, out);
  }
  if (format.mean != nullptr) {
    kernels.normalize(static_cast<std::size_t>(part.columns), group.count, format.mean[part.channel],
                      format.deviation[part.channel], out);
  }
}

void blend_partners(const GatherKernels& kernels, const SampleFormat& format, const Group& partners,
                    const float* shares, const RowPart& part, float* out) {
  alignas(64) std::array<float, static_cast<std::size_t>(max_columns * lanes)> others;
  gather_part(kernels, format, partners, part, others.data());
  std::array<float, lanes> lane_shares{};
  std::copy_n(shares, partners.count, lane_shares.begin());
  kernels.blend(static_cast<std::size_t>(part.columns), lane_shares.data(), others.data(), out);
}

}  // namespace

void gather(Level level, const MicroBatch& batch, const SampleFormat& format, int first, Shape target,
            float* out) {
  const GatherKernels& kernels = gather_kernels(level);
  const auto begin = static_cast<std::uint32_t>(first);
  Group own, partners;
  own.count = partners.count = std::min(lanes, static_cast<int>(batch.size - begin));
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(own.count); ++i) {
    own.samples[i] = batch.samples[begin + i];
    partners.samples[i] = batch.samples[MicroBatchRule::partner(begin + i, batch.size)];
  }
  const Shape& source = format.shape;
  for (int c = 0; c < target.channels; ++c) {
    for (int r = 0; r < target.height; ++r) {
      const std::size_t row = static_cast<std::size_t>(c * source.height + r) * source.width;
      for (int column = 0; column < target.width; column += max_columns) {
        const RowPart part{row + static_cast<std::size_t>(column),
                           std::min(max_columns, target.width - column), c};
        gather_part(kernels, format, own, part, out);
        if (batch.mixes()) blend_partners(kernels, format, partners, batch.shares + begin, part, out);
        out += static_cast<std::size_t>(part.columns) * lanes;
      }
    }
  }
}

}  // namespace lockstep::cpu
