#pragma once

#include <cstddef>

#include "core/host_device.h"

namespace lockstep::cuda {

/// Number of the part that contains `index`, in kernels that process several parts. Part k ends before
/// ends[k]; index < ends[count - 1].
LOCKSTEP_HD inline unsigned find_part(const std::size_t* ends, unsigned count, std::size_t index) {
  unsigned first = 0;
  unsigned last = count - 1;
  while (first < last) {
    const unsigned middle = (first + last) / 2;
    if (index < ends[middle]) {
      last = middle;
    } else {
      first = middle + 1;
    }
  }
  return first;
}

}  // namespace lockstep::cuda
