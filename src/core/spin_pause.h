#pragma once

namespace lockstep {

/// Tells the processor that the loop around this only waits for another core.
inline void spin_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace lockstep
