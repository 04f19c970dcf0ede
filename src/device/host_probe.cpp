#include "device/host_probe.h"

#include <sys/resource.h>
#include <sys/statvfs.h>

#include "device/available_memory.h"

namespace lockstep {
HostProbe probe_host() {
  HostProbe found;
  found.memory_bytes = total_memory();
  found.memory_free = available_memory();
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    found.lock_limit = limit.rlim_cur;
  }
  struct statvfs shared {};
  if (statvfs("/dev/shm", &shared) == 0) {
    found.shared_bytes = std::uint64_t{shared.f_blocks} * shared.f_frsize;
    found.shared_free = std::uint64_t{shared.f_bavail} * shared.f_frsize;
  }
  return found;
}

}  // namespace lockstep
