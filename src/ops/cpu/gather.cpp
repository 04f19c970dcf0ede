#include <array>

#include "ops/cpu/level.h"
#include "ops/cpu/op.h"

namespace lockstep::cpu {
namespace {

using GatherRow = void (*)(const std::uint8_t* const*, int, float*);

template <Level level>
void gather(const std::uint8_t* const* images, int count, Shape source, Shape target, float* out) {
  static const GatherRow gather_row = kernels_of(level).gather_row;
  std::array<const std::uint8_t*, lanes> rows;
  for (int c = 0; c < target.channels; ++c) {
    for (int r = 0; r < target.height; ++r) {
      const std::size_t offset = static_cast<std::size_t>(c * source.height + r) * source.width;
      for (int i = 0; i < lanes; ++i) {
        rows[static_cast<std::size_t>(i)] = i < count ? images[i] + offset : nullptr;
      }
      gather_row(rows.data(), target.width, out);
      out += static_cast<std::size_t>(target.width) * lanes;
    }
  }
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
