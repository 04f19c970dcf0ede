#pragma once

#include <memory>

#include "train/cuda/feed.h"
#include "train/step/leaf_runner.h"

namespace lockstep::cuda {

/// Runs micro-batches of a loader on a GPU, which `feed` brings there. All references outlive it; `plan` is
/// compiled for the sizes that the loader's micro-batches have.
std::unique_ptr<LeafRunner> make_cuda_leaf_runner(Device& device, const CudaPlan& plan, const Loader& loader,
                                                  std::unique_ptr<Feed> feed);

}  // namespace lockstep::cuda
