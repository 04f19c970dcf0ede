#pragma once

#include <memory>
#include <vector>

#include "device/device.h"

namespace lockstep {

struct CpuOptions {
  int threads = 1;  ///< number of executors, including the calling thread
  /// The host's cores are divided into `local_size` parts; this rank uses part `local_rank`.
  int local_rank = 0;
  int local_size = 1;
  bool pin = true;
};

/// Makes a device whose executors flush denormals to zero and, if `pin`, are pinned to cores (hwloc). If the
/// launcher bound the process to fewer cores than executors, the executors share these cores unpinned. Throws
/// Error(resource) when threads cannot be started.
std::unique_ptr<Device> make_cpu_device(const CpuOptions& options);

/// Processors [first, first + count).
struct CoreRange {
  int first = 0;
  int count = 0;

  bool operator==(const CoreRange&) const = default;
};
/// Part `local_rank` of `count` processors divided into `local_size` parts. If the division leaves a
/// remainder, the first parts have one processor more.
constexpr CoreRange part_of_cores(int count, int local_rank, int local_size) {
  const int rest = count % local_size;
  return {local_rank * (count / local_size) + (local_rank < rest ? local_rank : rest),
          count / local_size + (local_rank < rest ? 1 : 0)};
}

/// Number of cores that a rank may use, at least 1: the cores that the launcher bound the rank to, or else
/// its part of all cores; at most its part of the host's cpu_limit.
int available_cores(int local_rank, int local_size);

}  // namespace lockstep
