#pragma once

#include <cstddef>
#include <memory>

#include "device/cuda/stream_handle.h"
#include "device/device.h"

namespace lockstep::cuda {

/// A stream of a CUDA device. Kernels and libraries use its handle while a recording is described.
class CudaStream : public Stream {
 public:
  virtual StreamHandle handle() const = 0;
};

/// A CUDA device, with the operations that only CUDA code uses.
class CudaDevice : public Device {
 public:
  /// Stream of highest priority for communication, not among streams(). In a recording, its work first waits
  /// for an event of another stream, and another stream waits for it before the end of the recording and
  /// before calls of the host.
  virtual CudaStream& communication_stream() = 0;
};

/// The argument must be a stream, or device, of CUDA.
StreamHandle handle_of(const Stream& stream);
CudaStream& communication_stream(Device& device);

/// Device on GPU `local_rank` modulo the number of visible GPUs. `graphs`: whether recordings become CUDA
/// graphs, instead of being described to the streams anew in each run; `streams`: their number, at least 1.
/// Neither affects the result. Only the first stream makes calls of the host and is filled by uploads. Throws
/// Error(resource) saying why there is no GPU.
std::unique_ptr<Device> make_cuda_device(int local_rank = 0, bool graphs = true, std::size_t streams = 1);

}  // namespace lockstep::cuda
