#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "device/cuda/stream_handle.h"
#include "device/device.h"

namespace lockstep::cuda {

/// A stream of a CUDA device. Kernels and libraries use its handle while a recording is described.
class CudaStream : public Stream {
 public:
  virtual StreamHandle handle() const = 0;
};

/// Device memory that the host fills in each run of a program, concurrently with earlier work of the stream.
class Upload {
 public:
  /// Called on the host in each run. Returns the bytes to copy, in memory from allocate_host; they must not
  /// change until the next call, or until wait() has returned. May throw; the run then ends with this
  /// exception.
  using Source = std::function<std::span<const std::byte>()>;

  explicit Upload(Buffer memory) : memory_(std::move(memory)) {}
  virtual ~Upload() = default;
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;

  std::byte* data() const { return memory_.data(); }
  /// Records a copy of what `source` returns to the beginning of the memory. Later work of the stream starts
  /// after the copy. `source` is called, and the copy made, while earlier work of the stream may still be
  /// running; the copy waits only for the work before the last release. With graphs, one graph ends here and
  /// the next begins.
  virtual void fill(Stream& stream, Source source) = 0;
  /// Records that the memory is no longer in use: later work of the stream must not access the memory before
  /// the next fill. Call once after each fill.
  virtual void release(Stream& stream) = 0;
  /// Waits until all copies from host memory are done. Must not be called while recording.
  virtual void wait() = 0;
  /// Total seconds for which the stream has waited for copies and their sources, in completed runs only.
  virtual double waited() const = 0;

 private:
  Buffer memory_;
};

// The first argument of these functions must be a CUDA stream or CUDA device.

StreamHandle handle_of(const Stream& stream);
/// Stream of highest priority for communication, not among streams(). In a recording, the stream must first
/// wait for an event of another stream, and another stream must wait for its work before the recording ends
/// and before each host call.
CudaStream& communication_stream(Device& device);
/// Allocates device memory to be filled by the device's first stream.
std::unique_ptr<Upload> make_upload(Device& device, std::size_t bytes);

/// Makes a device on GPU `local_rank` modulo the number of visible GPUs. `graphs`: whether recordings become
/// CUDA graphs; if not, each run submits the described work again. `streams`: number of streams, at least 1.
/// Neither affects the results. Only the first stream supports host calls and uploads. Throws Error(resource)
/// with the reason if no GPU can be used.
std::unique_ptr<Device> make_cuda_device(int local_rank = 0, bool graphs = true, std::size_t streams = 1);

}  // namespace lockstep::cuda
