#include "ops/cpu/level.h"

#include <fmt/format.h>
#if defined(LOCKSTEP_HAS_AMX)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>

#include "lockstep/error.h"

namespace lockstep::cpu {
namespace {

struct Entry {
  Level level;
  const char* name;
  bool (*runs_here)();
};

#if defined(LOCKSTEP_HAS_AVX2)
bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul");
}
#endif

#if defined(LOCKSTEP_HAS_AVX512)
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
#endif

#if defined(LOCKSTEP_HAS_AMX)
/// Asks CPUID, since Clang 14's __builtin_cpu_supports does not know AMX.
bool has_tiles() {
  constexpr unsigned amx_bf16 = 1U << 22, amx_tile = 1U << 24;  // leaf 7, EDX
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & amx_bf16) != 0 && (d & amx_tile) != 0;
}

/// Requests permission to use AMX tiles, which Linux grants to processes on request only.
bool may_use_tiles() {
  constexpr int request_permission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int tile_data = 18;               // XFEATURE_XTILEDATA, a component of the processor's state
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

bool has_amx() {
  static const bool has =
      has_avx512() && __builtin_cpu_supports("avx512bf16") && has_tiles() && may_use_tiles();
  return has;
}
#endif

#if defined(LOCKSTEP_HAS_NEON)
bool has_neon() { return true; }
#endif

/// Levels in this build, best last.
const std::vector<Entry>& entries() {
#define LOCKSTEP_LEVEL_ENTRY(level_, ...) {Level::level_, #level_, has_##level_},
  static const std::vector<Entry> all{LOCKSTEP_BUILT_LEVELS(LOCKSTEP_LEVEL_ENTRY)};
#undef LOCKSTEP_LEVEL_ENTRY
  return all;
}

}  // namespace

void refuse_level(Level level) {
  throw Error(Category::internal, fmt::format("no kernels were built for {}", level_name(level)));
}

std::vector<Level> available_levels() {
  std::vector<Level> levels;
  for (const Entry& entry : entries()) {
    if (entry.runs_here()) {
      levels.push_back(entry.level);
    }
  }
  return levels;
}

Level best_level() {
  const std::vector<Level> levels = available_levels();
  if (levels.empty()) {
    throw Error(Category::resource, "this processor lacks AVX2 and FMA, which the CPU kernels need");
  }
  return levels.back();
}

Level level_by_name(const std::string& name) {
  if (name == "auto") {
    return best_level();
  }
  for (const Entry& entry : entries()) {
    if (name == entry.name) {
      if (!entry.runs_here()) {
        throw Error(Category::usage,
                    fmt::format("this processor does not support the instruction set '{}'", name));
      }
      return entry.level;
    }
  }
  std::string built;
  for (const Entry& entry : entries()) {
    built += fmt::format("{}{}", built.empty() ? "" : ", ", entry.name);
  }
  throw Error(Category::usage, fmt::format("this build has kernels for {}, not for '{}'", built, name));
}

const char* level_name(Level level) {
  const auto found = std::ranges::find(entries(), level, &Entry::level);
  return found == entries().end() ? "unknown" : found->name;
}

}  // namespace lockstep::cpu
