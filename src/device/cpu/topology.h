#pragma once

#include <hwloc.h>

#include <memory>

namespace lockstep {

struct DestroyTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
/// This machine's cores and caches (hwloc).
using Topology = std::unique_ptr<hwloc_topology, DestroyTopology>;

/// Null if hwloc cannot detect the topology.
inline Topology load_topology() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) {
    return nullptr;
  }
  Topology owner(topology);
  return hwloc_topology_load(topology) == 0 ? std::move(owner) : nullptr;
}

}  // namespace lockstep
