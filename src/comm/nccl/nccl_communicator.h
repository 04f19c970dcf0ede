#pragma once

#include <memory>

#include "comm/gpu_communicator.h"
#include "comm/nccl/nccl_api.h"

namespace lockstep {

struct NcclOptions {
  NcclApi api;
  int local_ranks = 1;  ///< ranks on this host, for error messages
  /// Maximum number of elements of peers' partial sums that are staged at once; exceeded if chunks would
  /// otherwise have fewer than 4,096 elements.
  std::size_t staging = std::size_t{1} << 25;
  /// Number of elements of the largest sum for which NCCL makes connections at the start.
  std::size_t largest_sum = std::size_t{1} << 24;
};

/// Same as make_nccl_communicator, with a library that is already open.
std::unique_ptr<Communicator> connect_by_nccl(Communicator& host, const std::string& gpu, Device& device,
                                              const NcclOptions& options);

}  // namespace lockstep
