#pragma once

/// Kernels of CPU operations. Kernel sources are compiled once per instruction set, named by LOCKSTEP_LEVEL.
/// The header of a family of kernels declares tasks and a table of functions; the source file ends with the
/// definition of the table. Activations are [group][channel][row][column][16 images]. The order of additions
/// depends only on shapes and element types, so all instruction sets yield the same bits. Headers contain
/// plain structs without member functions, because code for every instruction set includes them.
namespace lockstep::cpu {

/// Instruction sets that kernels are compiled for. amx: AVX-512, with separate kernels for products of bf16.
enum class Level { avx2, avx512, amx, neon };

/// Throws Error(internal), saying that no kernels were built for `level`.
[[noreturn]] void refuse_level(Level level);

}  // namespace lockstep::cpu

/// LOCKSTEP_KERNEL_TABLE(Table, name), in namespace lockstep::cpu, declares `const Table name` in kernel
/// sources and `const Table& name(Level)` in other sources. LOCKSTEP_KERNEL_TABLE_WITH_AMX does the same for
/// sources that are compiled for `amx` too (cmake/simd_levels.cmake).
#ifdef LOCKSTEP_LEVEL
#define LOCKSTEP_KERNEL_TABLE(Table, name) \
  namespace LOCKSTEP_LEVEL {               \
  extern const Table name;                 \
  }
#define LOCKSTEP_KERNEL_TABLE_WITH_AMX(Table, name) LOCKSTEP_KERNEL_TABLE(Table, name)
#elif defined(LOCKSTEP_HAS_AVX2) || defined(LOCKSTEP_HAS_AVX512) || defined(LOCKSTEP_HAS_NEON)
#ifdef LOCKSTEP_HAS_AVX2
#define LOCKSTEP_IF_AVX2(ENTRY, ...) ENTRY(avx2, __VA_ARGS__)
#else
#define LOCKSTEP_IF_AVX2(ENTRY, ...)
#endif
#ifdef LOCKSTEP_HAS_AVX512
#define LOCKSTEP_IF_AVX512(ENTRY, ...) ENTRY(avx512, __VA_ARGS__)
#else
#define LOCKSTEP_IF_AVX512(ENTRY, ...)
#endif
#ifdef LOCKSTEP_HAS_AMX
#define LOCKSTEP_IF_AMX(ENTRY, ...) ENTRY(amx, __VA_ARGS__)
#else
#define LOCKSTEP_IF_AMX(ENTRY, ...)
#endif
#ifdef LOCKSTEP_HAS_NEON
#define LOCKSTEP_IF_NEON(ENTRY, ...) ENTRY(neon, __VA_ARGS__)
#else
#define LOCKSTEP_IF_NEON(ENTRY, ...)
#endif
/// Expands ENTRY(level, ...) for each level that all kernels are compiled for, best last.
#define LOCKSTEP_WHOLE_LEVELS(ENTRY, ...) \
  LOCKSTEP_IF_NEON(ENTRY, __VA_ARGS__)    \
  LOCKSTEP_IF_AVX2(ENTRY, __VA_ARGS__)    \
  LOCKSTEP_IF_AVX512(ENTRY, __VA_ARGS__)
/// Expands ENTRY(level, ...) for each level in this build, best last.
#define LOCKSTEP_BUILT_LEVELS(ENTRY, ...)   \
  LOCKSTEP_WHOLE_LEVELS(ENTRY, __VA_ARGS__) \
  LOCKSTEP_IF_AMX(ENTRY, __VA_ARGS__)
#define LOCKSTEP_DECLARE_TABLE(level_, Table, name) \
  namespace level_ {                                \
  extern const Table name;                          \
  }
#define LOCKSTEP_SELECT_TABLE(level_, name) \
  if (level == Level::level_) return level_::name;
#define LOCKSTEP_KERNEL_TABLE(Table, name)                   \
  LOCKSTEP_WHOLE_LEVELS(LOCKSTEP_DECLARE_TABLE, Table, name) \
  inline const Table& name(Level level) {                    \
    if (level == Level::amx) level = Level::avx512;          \
    LOCKSTEP_WHOLE_LEVELS(LOCKSTEP_SELECT_TABLE, name)       \
    refuse_level(level);                                     \
  }
#define LOCKSTEP_KERNEL_TABLE_WITH_AMX(Table, name)          \
  LOCKSTEP_BUILT_LEVELS(LOCKSTEP_DECLARE_TABLE, Table, name) \
  inline const Table& name(Level level) {                    \
    LOCKSTEP_BUILT_LEVELS(LOCKSTEP_SELECT_TABLE, name)       \
    refuse_level(level);                                     \
  }
#endif
