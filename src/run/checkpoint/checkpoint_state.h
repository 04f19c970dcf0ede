#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/json/members.h"
#include "lockstep/checkpoint.h"

namespace lockstep {

/// State of a run in a checkpoint, in addition to the tensors: the contents of state.json, as `visit`
/// describes them. Numbers in texts are written as in core/options/text.h.
struct CheckpointState {
  std::uint64_t format = 1;
  std::uint64_t step = 0;  ///< number of completed steps
  int epoch = 0;           ///< epoch of the last step, from 1; 0: before the first step
  Facts progress{};        ///< sums over the epoch in progress, and the best epoch
  Facts options{};         ///< options that affect the result
  Facts identity{};        ///< hashes of network and data
  Facts fingerprint{};     ///< kind of processor and versions of libraries, on which the bits depend
  std::string engines{};   ///< cuDNN's choice of engines (JSON text); may be empty

  bool operator==(const CheckpointState&) const = default;
};
LOCKSTEP_MEMBERS(CheckpointState, format, step, epoch, progress, options, identity, fingerprint, engines)

/// Text of state.json. Throws Error(internal) for a name that is repeated or not UTF-8. The values of facts
/// may hold any bytes.
std::string state_json(const CheckpointState& state);

/// Parses what state_json returned. Memory is proportional to the length of `json`. Throws Error(data) with
/// `origin`, line, path and reason for any other text, and NewerFormat for a later format.
CheckpointState parse_state(std::string_view json, const std::string& origin);

}  // namespace lockstep
