#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json/members.h"
#include "device/cuda_probe.h"
#include "device/host_probe.h"

namespace lockstep {

/// One line of `lockstep doctor`.
struct Finding {
  enum class State {
    well,
    remark,   ///< works, could be better
    missing,  ///< requested, but does not work: exit status 4
  };
  std::string name{};
  std::string value{};
  State state = State::well;
  std::string hint{};                              ///< remedy, unless state is `well`
  std::map<std::string, std::uint64_t> figures{};  ///< numbers in `value`; a unit is part of the name
};

inline Names choices_of(Finding::State /*unused*/) { return {"well", "hint", "missing"}; }

LOCKSTEP_MEMBERS(Finding, name, value, state, hint, figures)

/// Text of a finding: "GPU 0          NVIDIA H200, ..." and, on the next line, the hint.
std::string text_of(const Finding& finding);

/// Ranks of this run, and options that findings depend on.
struct Launched {
  int ranks = 1, local_ranks = 1, hosts = 1;
  /// Number of GPUs that this host's ranks use; none: each rank can use any GPU that this rank sees.
  std::optional<std::size_t> local_gpus{};
  bool wants_cuda = false;    ///< --device cuda
  bool through_host = false;  ///< --transport is not auto: gradients of GPUs pass through host memory
};

/// Findings about memory, limits and /dev/shm.
std::vector<Finding> describe_host(const HostProbe& host, const Launched& launched);

/// Findings about CUDA, driver, GPUs, their links, cuDNN and NCCL. An obstacle to using GPUs is `missing` if
/// --device cuda asks for them, else a `remark`.
std::vector<Finding> describe_cuda(const cuda::Probe& probe, const Launched& launched);

/// Finding for a host with more ranks than GPUs: `missing` if each rank needs its own GPU, else a `remark`.
std::optional<Finding> describe_sharing(const cuda::Probe& probe, const Launched& launched);

}  // namespace lockstep
