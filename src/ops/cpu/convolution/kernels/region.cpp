#include "ops/cpu/convolution/kernels/region.h"

namespace lockstep::cpu::LOCKSTEP_LEVEL {
namespace {

template <class Element>
void copy_pixels(const StoredPlanes<Element>& planes, std::size_t first, int count, float* target) {
  if (planes.masks != nullptr) {
    for (int i = 0; i < count; ++i) {
      copy_pixel(planes, first + static_cast<std::size_t>(i), target + pixels(i));
    }
    return;
  }
  const Element* source = planes.data + pixels(first);
  for (std::size_t i = 0; i < pixels(count); i += width) {
    store(load(source + i), target + i);
  }
}

}  // namespace

template <class Element>
void copy_region(const StoredPlanes<Element>& planes, const Region& region, float* target) {
  const int left = smaller(larger(-region.column, 0), region.columns);
  const int end = larger(smaller(planes.width - region.column, region.columns), left);
  for (int c = 0; c < region.channels; ++c) {
    for (int r = 0; r < region.rows; ++r, target += pixels(region.columns)) {
      const int row = region.row + r;
      if (row < 0 || row >= planes.height) {
        clear(target, pixels(region.columns));
        continue;
      }
      const std::size_t first =
          (static_cast<std::size_t>(region.channel + c) * planes.height + row) * planes.width +
          static_cast<std::size_t>(region.column + left);
      clear(target, pixels(left));
      copy_pixels(planes, first, end - left, target + pixels(left));
      clear(target + pixels(end), pixels(region.columns - end));
    }
  }
}

template void copy_region(const StoredPlanes<float>& planes, const Region& region, float* target);
template void copy_region(const StoredPlanes<Bfloat16>& planes, const Region& region, float* target);

}  // namespace lockstep::cpu::LOCKSTEP_LEVEL
