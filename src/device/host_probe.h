#pragma once

#include <cstdint>
#include <optional>

namespace lockstep {

/// What this process finds of its host, beside the processors. Nothing throws; what cannot be read is none.
struct HostProbe {
  std::optional<std::uint64_t> memory_bytes{}, memory_free{};  ///< free: what programs may still take
  /// Bytes that this process may lock (RLIMIT_MEMLOCK); none: no limit.
  std::optional<std::uint64_t> lock_limit{};
  std::optional<std::uint64_t> shared_bytes{}, shared_free{};  ///< /dev/shm
};

HostProbe probe_host();

}  // namespace lockstep
