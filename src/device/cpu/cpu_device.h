#pragma once

#include <memory>
#include <vector>

#include "device/device.h"

namespace lockstep {

struct CpuOptions {
  int threads = 1;  ///< executors, the calling thread included
  /// Cores of this host are dealt out to its ranks: this rank takes part `local_rank` of `local_size`.
  int local_rank = 0;
  int local_size = 1;
  bool pin = true;
};

/// Executors pinned to cores (hwloc), with flush-to-zero on all of them alike. Where the process is already
/// bound to fewer cores than executors (a launcher's choice), executors share what they were given.
std::unique_ptr<Device> make_cpu_device(const CpuOptions& options);

/// Cores that a rank may use: those this process is bound to, divided among the ranks that share them.
int available_cores(int local_rank, int local_size);

}  // namespace lockstep
