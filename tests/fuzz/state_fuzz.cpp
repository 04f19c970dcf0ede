#include "fuzz.h"
#include "run/checkpoint/checkpoint_state.h"

namespace {

/// The input is a state.json. An accepted state must survive writing and reading back.
void read_input(std::span<const std::byte> file) {
  const lockstep::CheckpointState state = lockstep::parse_state(lockstep::as_text(file), "file");
  if (lockstep::parse_state(lockstep::state_json(state), "file") != state) __builtin_trap();
}

const Parser state("state", read_input);

}  // namespace
