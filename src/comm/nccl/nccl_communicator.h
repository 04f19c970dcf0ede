#pragma once

#include <memory>

#include "comm/gpu_communicator.h"
#include "comm/nccl/nccl_api.h"

namespace lockstep {

struct NcclOptions {
  NcclApi api;
  /// Elements of the peers' partial sums that are staged at a time; more where a chunk would get under 4,096.
  std::size_t staging = std::size_t{1} << 25;
  /// Elements of the largest sum that connections are made for at the start.
  std::size_t largest_sum = std::size_t{1} << 24;
};

/// make_nccl_communicator with a library that is there.
std::unique_ptr<Communicator> connect_by_nccl(Communicator& host, const std::string& gpu, Device& device,
                                              const NcclOptions& options);

}  // namespace lockstep
