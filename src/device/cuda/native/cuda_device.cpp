#include "device/cuda/cuda_device.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "device/cuda/native/check.h"
#include "device/cuda/native/streams.h"
#include "device/cuda/native/upload.h"
#include "device/cuda_probe.h"
#include "device/kernel_times.h"
#include "lockstep/error.h"

namespace lockstep::cuda {
namespace {

/// Number of visible GPUs. Throws Error(resource) with the reason if none can be used.
int device_count() {
  const std::string why = why_no_cuda();
  if (!why.empty()) throw Error(Category::resource, why);
  int count = 0;
  check_cuda(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  return count;
}

class NativeDevice final : public Device {
 public:
  NativeDevice(int local_rank, bool graphs, std::size_t streams)
      : device_(local_rank % device_count()), stream_(events_, select(device_, graphs)) {
    while (streams_.size() < streams) {
      branches_.push_back(std::make_unique<OrderedStream>(events_, make_stream()));
      stream_.add_branch(*branches_.back());
      streams_.push_back(branches_.back().get());
    }
  }

  Buffer allocate(std::size_t bytes) override {
    if (bytes == 0) return {};
    void* data = nullptr;
    const cudaError_t code = cudaMalloc(&data, bytes);
    if (code == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      std::size_t free = 0, total = 0;
      check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
      throw Error(Category::resource,
                  fmt::format("GPU {}: not enough memory: {} MB are needed, {} of {} MB are free", device_,
                              bytes >> 20, free >> 20, total >> 20));
    }
    check_cuda(code, "cudaMalloc");
    Buffer buffer(data, bytes, [](void* address) { cudaFree(address); });
    check_cuda(cudaMemsetAsync(data, 0, bytes, copies_.get()), "cudaMemsetAsync");
    check_cuda(cudaStreamSynchronize(copies_.get()), "cudaStreamSynchronize");
    return buffer;
  }

  std::size_t available_bytes() const override {
    std::size_t free = 0, total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return free;
  }

  Buffer allocate_host(std::size_t bytes) override {
    if (bytes == 0) return {};
    void* data = nullptr;
    check_cuda(cudaMallocHost(&data, bytes), "cudaMallocHost");
    std::fill_n(static_cast<std::byte*>(data), bytes, std::byte{0});
    return {data, bytes, [](void* address) { cudaFreeHost(address); }};
  }

  Buffer mirror(const Buffer& buffer) override { return allocate_host(buffer.bytes()); }

  void copy(void* to, const void* from, std::size_t bytes) override {
    if (!stream_.recording()) stream_.synchronize();
    if (bytes == 0) return;
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, copies_.get()), "cudaMemcpyAsync");
    check_cuda(cudaStreamSynchronize(copies_.get()), "cudaStreamSynchronize");
  }
  void copy(Stream& stream, void* to, const void* from, std::size_t bytes) override {
    const StreamHandle handle = handle_of(stream);
    timed_launch(handle, "copy", [&] {
      check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, handle), "cudaMemcpyAsync");
    });
  }

  std::unique_ptr<Upload> make_upload(std::size_t bytes) {
    return cuda::make_upload(stream_, allocate(bytes));
  }
  std::span<Stream* const> streams() override { return streams_; }
  CudaStream& communication_stream() { return communication_; }
  void while_waiting(std::function<void()> look) override { stream_.while_waiting(std::move(look)); }

  std::unique_ptr<Program> record(std::function<void()> describe) override {
    return stream_.make_program(std::move(describe));
  }

 private:
  static bool select(int device, bool graphs) {
    // Lets the host sleep while it waits for the GPU; by default, the driver may spin.
    const cudaError_t code =
        cudaInitDevice(device, cudaDeviceScheduleBlockingSync, cudaInitDeviceFlagsAreValid);
    if (code == cudaErrorDevicesUnavailable) {
      cudaGetLastError();
      throw Error(Category::resource,
                  fmt::format("GPU {}: {} (cudaErrorDevicesUnavailable); another process may "
                              "have it for itself: nvidia-smi lists them",
                              device, cudaGetErrorString(code)));
    }
    check_cuda(code, "cudaInitDevice");
    select_device(device);
    return graphs;
  }

  int device_;
  EventPool events_;
  RecordingStream stream_;
  OrderedStream communication_{events_, make_stream_of_highest_priority()};
  StreamOwner copies_ = make_stream();  ///< for immediate copies, also while stream_ is recording
  std::vector<std::unique_ptr<OrderedStream>> branches_;
  std::vector<Stream*> streams_{&stream_};  ///< stream_ and the branches
};

}  // namespace

CudaStream& communication_stream(Device& device) {
  return static_cast<NativeDevice&>(device).communication_stream();
}

std::unique_ptr<Upload> make_upload(Device& device, std::size_t bytes) {
  return static_cast<NativeDevice&>(device).make_upload(bytes);
}

StreamHandle handle_of(const Stream& stream) { return static_cast<const CudaStream&>(stream).handle(); }

std::unique_ptr<Device> make_cuda_device(int local_rank, bool graphs, std::size_t streams) {
  return std::make_unique<NativeDevice>(local_rank, graphs, streams);
}

}  // namespace lockstep::cuda
