#include "device/cpu/pinning.h"

#include <sched.h>

#include <algorithm>
#include <cfenv>
#include <cstdint>
#include <memory>
#include <optional>

#include "device/cpu/cpu_device.h"
#include "device/cpu/topology.h"
#include "device/host_probe.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace lockstep {
namespace {

struct FreeBitmap {
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

struct Cores {
  std::vector<int> processors;  ///< first logical processor of every core that the process may run on
  bool all = false;             ///< whether the process may run on all cores of the machine
};

Cores find_cores() {
  const Topology topology = load_topology();
  Cores cores;
  if (!topology) {
    return cores;
  }
  const Bitmap bound(hwloc_bitmap_alloc());
  if (hwloc_get_cpubind(topology.get(), bound.get(), HWLOC_CPUBIND_PROCESS) != 0) {
    hwloc_bitmap_copy(bound.get(), hwloc_topology_get_allowed_cpuset(topology.get()));
  }
  const int total = hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_CORE);
  for (int i = 0; i < total; ++i) {
    const hwloc_obj_t core = hwloc_get_obj_by_type(topology.get(), HWLOC_OBJ_CORE, static_cast<unsigned>(i));
    const Bitmap usable(hwloc_bitmap_dup(core->cpuset));
    hwloc_bitmap_and(usable.get(), usable.get(), bound.get());
    if (const int processor = hwloc_bitmap_first(usable.get()); processor >= 0) {
      cores.processors.push_back(processor);
    }
  }
  cores.all = static_cast<int>(cores.processors.size()) == total;
  return cores;
}

/// State of a thread, saved by its first ThreadState.
struct SavedThread {
  int states = 0;  ///< existing ThreadState objects of the thread
  bool bound = false;
  cpu_set_t processors{};
  std::fenv_t arithmetic{};  ///< includes the control bits of MXCSR (x86) and FPCR (ARM)
};
thread_local SavedThread saved;

/// Cores of a rank: those that the launcher bound the rank to, or else its part of all cores.
CoreRange own_part(const Cores& cores, int local_rank, int local_size) {
  const auto count = static_cast<int>(cores.processors.size());
  return cores.all ? part_of_cores(count, local_rank, std::max(1, local_size)) : CoreRange{0, count};
}

}  // namespace

int available_cores(int local_rank, int local_size) {
  int count = own_part(find_cores(), local_rank, local_size).count;
  if (const std::optional<int> limit = cpu_limit()) {
    count = std::min(count, part_of_cores(*limit, local_rank, std::max(1, local_size)).count);
  }
  return std::max(1, count);
}

std::vector<int> processors_for_executors(int threads, int local_rank, int local_size) {
  const Cores cores = find_cores();
  // Containers with a CPU limit may share all cores; each would pin its threads to the same first cores.
  if (const auto all = static_cast<int>(cores.processors.size()); cpu_limit().value_or(all) < all) return {};
  const CoreRange own = own_part(cores, local_rank, local_size);
  if (threads > own.count) return {};
  const auto first = cores.processors.begin() + own.first;
  return {first, first + threads};
}

ThreadState::ThreadState() {
  if (saved.states++ > 0) return;
  saved.bound = sched_getaffinity(0, sizeof saved.processors, &saved.processors) == 0;
  std::fegetenv(&saved.arithmetic);
}

ThreadState::~ThreadState() {
  if (saved.states == 0 || --saved.states > 0) return;  // 0: destroyed on another thread
  if (saved.bound) sched_setaffinity(0, sizeof saved.processors, &saved.processors);
  std::fesetenv(&saved.arithmetic);
}

void pin_this_thread(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(processor), &set);
  sched_setaffinity(0, sizeof set, &set);
}

void flush_denormals_to_zero() {
#if defined(__SSE2__)
  _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
  _mm_setcsr(_mm_getcsr() | 0x0040U);  // denormals-are-zero
#elif defined(__aarch64__)
  std::uint64_t control = 0;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  asm volatile("msr fpcr, %0" ::"r"(control | (std::uint64_t{1} << 24)));
#endif
}

}  // namespace lockstep
