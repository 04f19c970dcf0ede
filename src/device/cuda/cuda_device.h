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

/// Memory of a device that the host fills in each run of a program, while the stream still computes with the
/// previous contents.
class Upload {
 public:
  /// Called on the host in each run. Returns what to copy: memory from allocate_host, which must not change
  /// until the next call, or until wait() has returned. May throw; the run then ends with this exception.
  using Source = std::function<std::span<const std::byte>()>;

  explicit Upload(Buffer memory) : memory_(std::move(memory)) {}
  virtual ~Upload() = default;
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;

  std::byte* data() const { return memory_.data(); }
  /// Records copying what `source` returns to the beginning of the memory. Later work of the stream starts
  /// after the copy. `source` is called, and the copy made, beside earlier work of the stream, except the
  /// work before the last release; graphs end and begin here.
  virtual void fill(Stream& stream, Source source) = 0;
  /// Records the end of the use of the memory: later work of the stream must not access it before the next
  /// fill. Once after each fill.
  virtual void release(Stream& stream) = 0;
  /// Waits until nothing is copied from the host's memory any more. Not while recording.
  virtual void wait() = 0;
  /// Total seconds for which the stream has waited for copies and their sources, in completed runs only.
  virtual double waited() const = 0;

 private:
  Buffer memory_;
};

// The first argument of these functions must be a stream, or device, of CUDA.

StreamHandle handle_of(const Stream& stream);
/// Stream of highest priority for communication, not among streams(). In a recording, its work first waits
/// for an event of another stream, and another stream waits for it before the end of the recording and before
/// calls of the host.
CudaStream& communication_stream(Device& device);
/// Memory of the device for fills by its first stream.
std::unique_ptr<Upload> make_upload(Device& device, std::size_t bytes);

/// Device on GPU `local_rank` modulo the number of visible GPUs. `graphs`: whether recordings become CUDA
/// graphs, instead of being described to the streams anew in each run; `streams`: their number, at least 1.
/// Neither affects the result. Only the first stream makes calls of the host and is filled by uploads. Throws
/// Error(resource) saying why there is no GPU.
std::unique_ptr<Device> make_cuda_device(int local_rank = 0, bool graphs = true, std::size_t streams = 1);

}  // namespace lockstep::cuda
