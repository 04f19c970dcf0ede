#pragma once

#include <filesystem>

namespace lockstep {

/// Number of processors (hardware threads) that this process may use.
int usable_processors();

/// Number of NUMA nodes with at least one usable processor; at least 1.
int usable_nodes();

/// Number of physical cores with at least one usable processor; 0: unknown. `folder`: where the system
/// describes its processors.
int usable_cores(const std::filesystem::path& folder = "/sys/devices/system/cpu");

}  // namespace lockstep
