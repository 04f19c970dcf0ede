#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/world/gather.h"
#include "lockstep/execution.h"
#include "lockstep/training_options.h"

namespace lockstep {

/// Facts that a rank sends to the others before they decide together. Ranks may differ in all of them.
struct RankFacts {
  FixedText<256> host = {};  ///< name, for messages
  std::uint32_t host_number = 0;
  DeviceKind device = DeviceKind::automatic;  ///< requested
  FixedText<64> gpu = {};                     ///< PCI address of the GPU to use; empty: none, or not probed
  FixedText<512> why_no_gpu = {};             ///< end of a sentence; empty: has a GPU, or not probed
  std::uint64_t steps_at_once = 0;            ///< requested number of steps submitted together; 0: automatic
};

/// Facts of all ranks.
struct Roster {
  std::vector<RankFacts> ranks;
  std::size_t own = 0;  ///< rank of this process
};

/// Decisions on how a rank computes and exchanges data. All but `device`, `gpu` and `warnings` are equal on
/// all ranks.
struct Placement {
  DeviceKind device = DeviceKind::cpu;  ///< of this rank: cpu or cuda
  std::string gpu = {};                 ///< PCI address of this rank's GPU; empty on the CPU
  bool all_cuda = false;                ///< whether every rank computes with CUDA
  bool some_cuda = false;               ///< whether a rank computes with CUDA
  int planner = 0;                      ///< rank that chooses engines for all GPUs: the lowest with CUDA
  bool nccl = false;                    ///< whether NCCL connects the ranks
  Reduce reduce = Reduce::canonical;    ///< canonical or ring
  /// Whether every rank gets the whole sum of the gradients, bucket by bucket, and updates all elements; if
  /// not, each rank sums and updates one slice.
  bool whole_sums = false;
  std::size_t steps_at_once = 1;      ///< steps submitted together, before the host reads their outcomes
  std::size_t max_steps_at_once = 1;  ///< maximum once the time of a step is known
  /// Warnings that this rank prints. Each is given to one rank only, of a host or of the run.
  std::vector<std::string> warnings = {};

  /// Device for defaults that all ranks share: cuda if every rank computes with CUDA, else cpu.
  DeviceKind common_device() const { return all_cuda ? DeviceKind::cuda : DeviceKind::cpu; }
};

/// Decides the placement of this rank from the facts of all ranks, consistently with the decisions of the
/// other ranks; `transport` and `reduce` must be equal on all ranks. Warnings explain fallbacks. Throws
/// Error(resource) on ranks whose request cannot be met: no GPU, or a GPU that another rank uses and the
/// transport does not allow to share. Pure function.
Placement place(const Roster& roster, Transport transport, Reduce reduce);

/// Gathers the facts of all ranks, places this rank and prints its warnings. Looks for GPUs if `execution`
/// allows one. If `place` throws on a rank, all ranks throw its error. Collective.
Placement find_placement(const World& world, const ExecutionOptions& execution,
                         Reduce reduce = Reduce::canonical);

}  // namespace lockstep
