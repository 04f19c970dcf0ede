#pragma once

#include "core/host_device.h"

namespace lockstep::cuda {

/// Two sums that are computed together.
template <class T>
struct SumPair {
  T first{};
  T second{};
  LOCKSTEP_HD SumPair& operator+=(const SumPair& other) {
    first += other.first;
    second += other.second;
    return *this;
  }
};

}  // namespace lockstep::cuda
