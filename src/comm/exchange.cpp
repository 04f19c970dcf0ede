#include "comm/exchange.h"

#include <numeric>

namespace lockstep {

Slices even_slices(std::size_t elements, int parts) {
  constexpr std::size_t unit = 16;
  const std::size_t units = elements / unit;
  const auto count = static_cast<std::size_t>(parts);
  Slices slices(count + 1);
  for (std::size_t i = 0; i < count; ++i) {
    slices[i] = (units / count * i + units % count * i / count) * unit;
  }
  slices[count] = elements;
  return slices;
}

std::size_t SumLayout::inputs() const {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

}  // namespace lockstep
