#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace lockstep {

/// Bytes that processes may still allocate: MemAvailable of /proc/meminfo, or less if the limit of a control
/// group of this process (of a container or a batch job; version 1 or 2) leaves less. Cached files do not
/// count as used. None: unknown. `root`: folder that contains proc and sys, for tests.
std::optional<std::uint64_t> available_memory(const std::filesystem::path& root = "/");

/// Bytes of memory of this machine, or the limit of the control group, if that is less. None: unknown.
std::optional<std::uint64_t> total_memory(const std::filesystem::path& root = "/");

/// CPU limit of this process's control group as a number of processors, rounded up: cpu.max, or
/// cpu.cfs_quota_us divided by cpu.cfs_period_us. None: no limit. `root`: as above.
std::optional<int> cpu_limit(const std::filesystem::path& root = "/");

/// Number of processors that processes of this host may use at the same time: usable_processors, or cpu_limit
/// if that is less.
int available_processors();

/// Memory of the host as seen by this process. A field is none if it cannot be read.
struct HostProbe {
  std::optional<std::uint64_t> memory_bytes{}, memory_free{};  ///< total_memory, available_memory
  /// Bytes that this process may lock (RLIMIT_MEMLOCK); none: unlimited.
  std::optional<std::uint64_t> lock_limit{};
  std::optional<std::uint64_t> shared_bytes{}, shared_free{};  ///< /dev/shm
};

/// Does not throw.
HostProbe probe_host();

/// Free bytes of /dev/shm that NCCL may need for each rank of a host to start.
constexpr std::uint64_t nccl_shared_bytes = std::uint64_t{16} << 20;

/// Whether a process listens on this TCP port of 127.0.0.1, in this process's network namespace. None:
/// unknown. `root`: as above.
std::optional<bool> listens_on_loopback(std::uint16_t port, const std::filesystem::path& root = "/");

}  // namespace lockstep
