#pragma once

#include <memory>
#include <vector>

#include "device/device.h"

namespace lockstep {

struct CpuOptions {
  int threads = 1;  ///< number of executors, the calling thread included
  /// This rank uses part `local_rank` of the host's cores, divided into `local_size` parts.
  int local_rank = 0;
  int local_size = 1;
  bool pin = true;
};

/// Makes a device whose executors flush denormals to zero and, if `pin`, are pinned to cores (hwloc). If the
/// launcher bound the process to fewer cores than executors, the executors share those. Throws
/// Error(resource) when threads cannot be started.
std::unique_ptr<Device> make_cpu_device(const CpuOptions& options);

/// Part of `count` processors.
struct CoreRange {
  int first = 0;
  int count = 0;

  bool operator==(const CoreRange&) const = default;
};
/// Part `local_rank` of `count` processors that are divided into `local_size` parts, of which the first ones
/// have one more if they cannot be equal.
constexpr CoreRange part_of_cores(int count, int local_rank, int local_size) {
  const int rest = count % local_size;
  return {local_rank * (count / local_size) + (local_rank < rest ? local_rank : rest),
          count / local_size + (local_rank < rest ? 1 : 0)};
}

/// Number of cores that a rank may use: those that this process is bound to, divided among the ranks that
/// share them, and no more than its part of the host's cpu_limit.
int available_cores(int local_rank, int local_size);

}  // namespace lockstep
