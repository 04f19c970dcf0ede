#pragma once

#include <memory>

#include "train/cuda/feed.h"
#include "train/step/leaf_runner.h"

namespace lockstep::cuda {

/// Runner for the micro-batches of a loader on a GPU; `feed` loads them there. References must outlive it.
/// `plan` must be compiled for all sizes of the loader's micro-batches; the runner keeps a copy, because the
/// original may be compiled for further sizes, which changes the layout of workspaces.
std::unique_ptr<LeafRunner> make_cuda_leaf_runner(Device& device, CudaPlan plan, const Loader& loader,
                                                  std::unique_ptr<Feed> feed);

}  // namespace lockstep::cuda
