#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace lockstep {

/// Bytes that processes may still allocate: MemAvailable of /proc/meminfo, or what a control group of this
/// process (a container's, a batch job's; version 1 or 2) leaves, if that is less. Cached files do not count
/// as used. None: unknown. `root`: folder of proc and sys, for tests.
std::optional<std::uint64_t> available_memory(const std::filesystem::path& root = "/");

/// Bytes of memory of this machine, or the limit of the control group, if that is less. None: unknown.
std::optional<std::uint64_t> total_memory(const std::filesystem::path& root = "/");

/// Number of processors whose time the processes of this one's control group have together, rounded up:
/// cpu.max, or cpu.cfs_quota_us divided by cpu.cfs_period_us. None: no limit. `root`: as above.
std::optional<int> cpu_limit(const std::filesystem::path& root = "/");

/// Number of processors that processes of this host may use at the same time: usable_processors, or cpu_limit
/// if that is less.
int available_processors();

/// Memory of the host as this process sees it. None: cannot be read.
struct HostProbe {
  std::optional<std::uint64_t> memory_bytes{}, memory_free{};  ///< total_memory, available_memory
  /// Bytes that this process may lock (RLIMIT_MEMLOCK); none: unlimited.
  std::optional<std::uint64_t> lock_limit{};
  std::optional<std::uint64_t> shared_bytes{}, shared_free{};  ///< /dev/shm
};

/// Does not throw.
HostProbe probe_host();

/// Free bytes of /dev/shm per rank of a host below which NCCL may not start.
constexpr std::uint64_t nccl_shared_bytes = std::uint64_t{16} << 20;

/// Whether a process listens on this TCP port of 127.0.0.1, in the network that this process sees. None:
/// unknown. `root`: as above.
std::optional<bool> listens_on_loopback(std::uint16_t port, const std::filesystem::path& root = "/");

}  // namespace lockstep
