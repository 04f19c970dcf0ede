#include <cstddef>
#include <cstdint>
#include <string_view>

#include "may_refuse.h"
#include "run/checkpoint/checkpoint_state.h"

/// The input is a state.json. What is accepted is read back from its own text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return may_refuse([&] {
    const lockstep::CheckpointState state =
        lockstep::parse_state({reinterpret_cast<const char*>(data), size}, "file");
    if (lockstep::parse_state(lockstep::state_json(state), "file") != state) __builtin_trap();
  });
}
