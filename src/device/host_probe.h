#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace lockstep {

/// Bytes that processes here may still take: MemAvailable of /proc/meminfo, or less where a control group
/// that this process is in (a container's, a batch job's; version 1 or 2) has a lower limit. Cached files do
/// not count as used. None where the system does not tell. `root`: where proc and sys are, for tests.
std::optional<std::uint64_t> available_memory(const std::filesystem::path& root = "/");

/// Bytes of this machine, or of the control group's limit.
std::optional<std::uint64_t> total_memory(const std::filesystem::path& root = "/");

/// What this process finds of its host, beside the processors. Nothing throws; what cannot be read is none.
struct HostProbe {
  std::optional<std::uint64_t> memory_bytes{}, memory_free{};  ///< free: what programs may still take
  /// Bytes that this process may lock (RLIMIT_MEMLOCK); none: no limit.
  std::optional<std::uint64_t> lock_limit{};
  std::optional<std::uint64_t> shared_bytes{}, shared_free{};  ///< /dev/shm
};

HostProbe probe_host();

}  // namespace lockstep
