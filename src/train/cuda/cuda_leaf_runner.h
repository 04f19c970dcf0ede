#pragma once

#include <memory>

#include "core/step_state.h"
#include "device/device.h"
#include "ops/cuda/cuda_plan.h"
#include "train/leaf_runner.h"

namespace lockstep::cuda {

/// Runs micro-batches of `loader` on a GPU: what it does is given to `stream`. All references outlive it.
std::unique_ptr<LeafRunner> make_cuda_leaf_runner(Device& device, Stream& stream, CudaPlan& plan,
                                                  const Loader& loader, StepLog log);

}  // namespace lockstep::cuda
