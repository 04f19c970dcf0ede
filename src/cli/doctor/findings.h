#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/cuda_probe.h"
#include "device/host_probe.h"

namespace lockstep {

/// One line of `lockstep doctor`.
struct Finding {
  enum class Kind {
    well,
    remark,   ///< works, could be better
    missing,  ///< what was wanted does not work: exit status 4
  };
  std::string name{};
  std::string value{};
  Kind kind = Kind::well;
  std::string hint{};  ///< what to do, where kind is not `well`
};

/// "GPU 0          NVIDIA H200, ..." and, below it, the hint.
std::string text_of(const Finding& finding);

/// Ranks as `doctor` was started with them, and what was asked for.
struct Launched {
  int ranks = 1, local_ranks = 1, hosts = 1;
  bool wants_cuda = false;    ///< --device cuda
  bool through_host = false;  ///< --transport is not auto: gradients of GPUs travel through the host's memory
};

/// Memory, limits, /dev/shm.
std::vector<Finding> describe_host(const HostProbe& host, const Launched& launched);

/// CUDA, driver, GPUs, their links, cuDNN and NCCL. What keeps ranks from GPUs is
/// missing where --device cuda asks for them, else worth a remark.
std::vector<Finding> describe_cuda(const cuda::Probe& probe, const Launched& launched);

/// Where a host has more ranks than GPUs: missing, unless it was said how they share them.
std::optional<Finding> describe_sharing(const cuda::Probe& probe, const Launched& launched);

}  // namespace lockstep
