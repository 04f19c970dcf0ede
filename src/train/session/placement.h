#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/execution.h"
#include "lockstep/training_options.h"

namespace lockstep {

class World;

/// Text of a fixed size, as ranks send it to each other; what does not fit is cut off.
template <std::size_t capacity>
struct FixedText {
  std::array<char, capacity> characters{};

  FixedText() = default;
  FixedText(std::string_view text) {  // NOLINT(google-explicit-constructor): a value like any text
    text.copy(characters.data(), capacity - 1);
  }
  std::string text() const { return characters.data(); }
  bool empty() const { return characters[0] == '\0'; }
};

/// What one rank tells the others before they decide together. Ranks may differ in all of it.
struct RankFacts {
  FixedText<256> host = {};  ///< name, for messages
  std::uint32_t host_number = 0;
  DeviceKind device = DeviceKind::automatic;  ///< requested
  FixedText<64> gpu = {};  ///< PCI address of the GPU that it would take; empty: none, or not looked for
  FixedText<512> why_no_gpu = {};   ///< rest of a sentence; empty: it has one, or did not look
  std::uint64_t steps_at_once = 0;  ///< requested number of steps submitted together; 0: automatic
};

/// The facts of all ranks, as each of them sees them.
struct Roster {
  std::vector<RankFacts> ranks;
  std::size_t own = 0;  ///< the rank that this process is
};

/// How a rank computes and exchanges data. Everything but `device`, `gpu` and `warnings` is equal on all
/// ranks.
struct Placement {
  DeviceKind device = DeviceKind::cpu;  ///< of this rank: cpu or cuda
  std::string gpu = {};                 ///< PCI address of this rank's GPU; empty on the CPU
  bool all_cuda = false;                ///< whether every rank computes with CUDA
  bool nccl = false;                    ///< whether NCCL connects the ranks
  Reduce reduce = Reduce::canonical;    ///< canonical or ring
  std::size_t steps_at_once = 1;        ///< steps submitted together, before the host reads their outcomes
  /// Printed by this rank, so that each appears once per host, or once in the run.
  std::vector<std::string> warnings = {};

  /// What defaults that all ranks share are for: cuda where every rank computes with it, else cpu.
  DeviceKind common_device() const { return all_cuda ? DeviceKind::cuda : DeviceKind::cpu; }
};

/// Decides for all ranks alike from their facts; `transport` and `reduce` are equal on all ranks. A rank that
/// gets what it was not asked for is told why. Throws Error(resource) on those ranks that cannot have what
/// they were asked for: no GPU, or the GPU of another rank without a transport that lets them share it. Pure.
Placement place(const Roster& roster, Transport transport, Reduce reduce);

/// The facts of all ranks. Looks for GPUs where `execution` may use one. Collective.
Roster gather_roster(const World& world, const ExecutionOptions& execution);

/// Gathers the roster, places this rank and prints its warnings. Throws on all ranks what `place` throws on
/// one. Collective.
Placement find_placement(const World& world, const ExecutionOptions& execution,
                         Reduce reduce = Reduce::automatic);

}  // namespace lockstep
