#pragma once

#include <cstddef>
#include <memory>

#include "device/cuda/launch.h"
#include "device/device.h"

namespace lockstep::cuda {

/// A stream of the CUDA device, as kernels and libraries are given it while a recording is described.
class CudaStream : public Stream {
 public:
  virtual StreamHandle handle() const = 0;
};

/// A device of which CUDA's layers know more.
class CudaDevice : public Device {
 public:
  /// Beside streams(): for what should begin as soon as it can, before kernels of the others that wait for
  /// room on the GPU. Its work waits for an event of another stream first; another stream waits for it before
  /// the recording ends, and before code of the host.
  virtual CudaStream& communication_stream() = 0;
};

/// Of a stream, or device, that is known to be CUDA's.
StreamHandle handle_of(const Stream& stream);
CudaStream& communication_stream(Device& device);

/// Device on GPU `local_rank` modulo the number of visible GPUs, with one stream. `graphs`: whether
/// recordings become CUDA graphs, instead of being described to the stream anew in each run; does not affect
/// the result. Throws Error(resource) saying why there is no GPU.
std::unique_ptr<Device> make_cuda_device(int local_rank = 0, bool graphs = true);

}  // namespace lockstep::cuda
