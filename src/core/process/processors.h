#pragma once

namespace lockstep {

/// Number of processors (hardware threads) that this process may use.
int usable_processors();

/// Number of NUMA nodes that have one of them; at least 1.
int usable_nodes();

/// Number of physical cores that are online; 0: unknown.
int physical_cores();

}  // namespace lockstep
