#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "lockstep/world.h"
#include "ops/cpu/cpu_plan.h"
#include "train/backend.h"

namespace lockstep {

Backend make_cpu_backend(const World& world, int threads, const std::string& simd) {
  const cpu::Level level = cpu::level_by_name(simd);
  if (threads == 0) {
    threads = available_cores(world.local_rank(), world.local_size());
  }
  Backend backend;
  backend.device = make_cpu_device(
      {.threads = threads, .local_rank = world.local_rank(), .local_size = world.local_size()});
  backend.compile = [level](const Graph& graph, const ArenaLayout& layout, const PlanOptions& options) {
    return cpu::make_plan(graph, layout, options, level);
  };
  backend.simd = cpu::level_name(level);
  backend.threads = threads;
  return backend;
}

}  // namespace lockstep
