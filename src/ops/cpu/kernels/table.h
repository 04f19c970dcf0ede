#pragma once

/// The arithmetic of the CPU's operations, compiled once per instruction set, each time with LOCKSTEP_LEVEL
/// naming it. A family of kernels has a header with its tasks and its table of functions, and a source that
/// ends with the table's definition. Activations are [channel][row][column][16 images]; a "group" is one such
/// block. The order of the additions behind every result is fixed by the shapes: no instruction set differs
/// from another by one bit. Headers of families hold plain structs without member functions: every
/// instruction set sees them.
namespace lockstep::cpu {

/// Instruction sets that the kernels are compiled for. All of them give the same bits.
enum class Level { avx2, avx512, neon };

/// Throws Error(internal): no kernels were built for `level`.
[[noreturn]] void refuse_level(Level level);

}  // namespace lockstep::cpu

/// LOCKSTEP_KERNEL_TABLE(Table, name), in namespace lockstep::cpu: declares `const Table name` for the source
/// of the kernels, and `const Table& name(Level)` for everything else.
#ifdef LOCKSTEP_LEVEL
#define LOCKSTEP_KERNEL_TABLE(Table, name) \
  namespace LOCKSTEP_LEVEL {               \
  extern const Table name;                 \
  }
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
#ifdef LOCKSTEP_HAS_NEON
#define LOCKSTEP_IF_NEON(ENTRY, ...) ENTRY(neon, __VA_ARGS__)
#else
#define LOCKSTEP_IF_NEON(ENTRY, ...)
#endif
/// ENTRY(name of the level, ...) for each level that was built, the best last.
#define LOCKSTEP_BUILT_LEVELS(ENTRY, ...) \
  LOCKSTEP_IF_NEON(ENTRY, __VA_ARGS__)    \
  LOCKSTEP_IF_AVX2(ENTRY, __VA_ARGS__)    \
  LOCKSTEP_IF_AVX512(ENTRY, __VA_ARGS__)
#define LOCKSTEP_DECLARE_TABLE(level_, Table, name) \
  namespace level_ {                                \
  extern const Table name;                          \
  }
#define LOCKSTEP_SELECT_TABLE(level_, name) \
  if (level == Level::level_) return level_::name;
#define LOCKSTEP_KERNEL_TABLE(Table, name)                   \
  LOCKSTEP_BUILT_LEVELS(LOCKSTEP_DECLARE_TABLE, Table, name) \
  inline const Table& name(Level level) {                    \
    LOCKSTEP_BUILT_LEVELS(LOCKSTEP_SELECT_TABLE, name)       \
    refuse_level(level);                                     \
  }
#endif
