#include "device/host_probe.h"

#include <sys/resource.h>
#include <sys/statvfs.h>

#include <fstream>
#include <string>

namespace lockstep {
namespace {

/// A line "NAME:  123 kB" of /proc/meminfo, in bytes.
std::optional<std::uint64_t> meminfo(const std::string& name) {
  std::ifstream file("/proc/meminfo");
  std::string word;
  while (file >> word) {
    std::uint64_t kilobytes = 0;
    if (word == name + ":" && file >> kilobytes) return kilobytes * 1024;
    std::getline(file, word);
  }
  return std::nullopt;
}

}  // namespace

HostProbe probe_host() {
  HostProbe found;
  found.memory_bytes = meminfo("MemTotal");
  found.memory_free = meminfo("MemAvailable");
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
