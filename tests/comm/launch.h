#pragma once

#include <functional>

#include "device/cpu/cpu_device.h"
#include "device/cuda/cuda_device.h"
#include "fake_cuda/fake_cuda.h"

namespace lockstep {

/// Enqueues `work` on a stream of the host or of the emulated GPU.
inline void launch(Stream& stream, std::function<void()> work) {
  if (dynamic_cast<cuda::CudaStream*>(&stream) != nullptr) {
    fake_cuda::launch(cuda::handle_of(stream), "work", {}, std::move(work));
  } else {
    stream.call(std::move(work), Phase::reduce);
  }
}

}  // namespace lockstep
