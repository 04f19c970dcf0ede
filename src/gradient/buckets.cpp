#include "gradient/buckets.h"

#include <algorithm>

namespace lockstep {

std::vector<std::size_t> cut_into_buckets(std::span<const std::size_t> offsets, std::size_t elements,
                                          std::size_t least) {
  std::vector<std::size_t> begins;
  std::size_t end = elements;
  for (std::size_t i = offsets.size(); i-- > 1;) {
    if (end - offsets[i] < least) continue;
    end = offsets[i];
    begins.push_back(end);
  }
  begins.push_back(0);
  std::ranges::reverse(begins);
  return begins;
}

}  // namespace lockstep
