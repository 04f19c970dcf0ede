#include "device/cpu/caches.h"

#include <fmt/format.h>

#include "device/cpu/topology.h"

namespace lockstep {

std::vector<Cache> data_caches() {
  std::vector<Cache> caches;
  const Topology topology = load_topology();
  if (!topology) return caches;
  hwloc_obj_t object = hwloc_get_obj_by_type(topology.get(), HWLOC_OBJ_CORE, 0);
  for (; object != nullptr; object = object->parent) {
    if (!hwloc_obj_type_is_dcache(object->type) || object->attr->cache.size == 0) continue;
    caches.push_back({fmt::format("L{}", object->attr->cache.depth), object->attr->cache.size});
  }
  return caches;
}

}  // namespace lockstep
