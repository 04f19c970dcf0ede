#include "device/cuda/cuda_device.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <variant>

#include "device/cuda/native/check.h"
#include "device/cuda/native/handles.h"
#include "device/cuda_probe.h"
#include "lockstep/error.h"

namespace lockstep::cuda {
namespace {

/// What a program consists of: launches, between which code of the host runs.
struct HostCode {
  std::function<void()> code;
};
using Part = std::variant<ExecutableGraphOwner, HostCode>;

StreamOwner make_stream() {
  cudaStream_t raw = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&raw, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return StreamOwner(raw);
}

/// One stream, which records by capture: work is called once and what it launches becomes a graph; code of
/// the host ends one graph and begins another. Without graphs work is kept and called in each run.
class RecordingStream final : public CudaStream {
 public:
  explicit RecordingStream(bool graphs) : graphs_(graphs), stream_(make_stream()) {}

  StreamHandle handle() const override { return stream_.get(); }

  void enqueue(std::function<void()> work) override {
    if (!recording_) throw Error(Category::internal, "work was given to a stream outside of a recording");
    if (graphs_) {
      work();
    } else {
      work_.push_back(std::move(work));
    }
  }

  void host(std::function<void()> code) override {
    if (!graphs_) {
      synchronize();
      code();
      return;
    }
    end_capture();
    parts_.emplace_back(HostCode{std::move(code)});
    begin_capture();
  }

  // One stream is in order by itself.
  Event record() override { return {0}; }
  void wait(Event /*event*/) override {}

  /// Where other ranks may be why the work does not end, somebody looks after them meanwhile.
  void synchronize() {
    if (!look_) return check_cuda(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
    constexpr unsigned yields = 64;
    for (unsigned polls = 1;; ++polls) {
      const cudaError_t code = cudaStreamQuery(stream_.get());
      if (code != cudaErrorNotReady) return check_cuda(code, "cudaStreamQuery");
      if (polls < yields) {
        sched_yield();
      } else {
        usleep(50);
      }
      if (polls % yields == 0) look_();
    }
  }
  void while_waiting(std::function<void()> look) { look_ = std::move(look); }

  bool recording() const { return recording_; }
  void begin() {
    recording_ = true;
    if (graphs_) begin_capture();
  }
  std::vector<Part> end() {
    if (graphs_) end_capture();
    recording_ = false;
    return std::move(parts_);
  }
  std::vector<std::function<void()>> take_work() { return std::move(work_); }
  /// After an exception in the middle of a recording.
  void abandon() noexcept {
    recording_ = false;
    parts_.clear();
    work_.clear();
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    if (cudaStreamIsCapturing(stream_.get(), &status) == cudaSuccess &&
        status != cudaStreamCaptureStatusNone) {
      cudaGraph_t graph = nullptr;
      cudaStreamEndCapture(stream_.get(), &graph);
      const GraphOwner owner(graph);
    }
    cudaGetLastError();
  }

 private:
  void begin_capture() {
    check_cuda(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal),
               "cudaStreamBeginCapture");
  }
  void end_capture() {
    cudaGraph_t raw = nullptr;
    check_cuda(cudaStreamEndCapture(stream_.get(), &raw), "cudaStreamEndCapture");
    const GraphOwner graph(raw);
    std::size_t nodes = 0;
    check_cuda(cudaGraphGetNodes(graph.get(), nullptr, &nodes), "cudaGraphGetNodes");
    if (nodes == 0) return;
    cudaGraphExec_t executable = nullptr;
    check_cuda(cudaGraphInstantiate(&executable, graph.get(), 0), "cudaGraphInstantiate");
    parts_.emplace_back(ExecutableGraphOwner(executable));
  }

  bool graphs_;
  bool recording_ = false;
  std::function<void()> look_;
  StreamOwner stream_;
  std::vector<Part> parts_;
  std::vector<std::function<void()>> work_;
};

class GraphProgram final : public Program {
 public:
  GraphProgram(RecordingStream& stream, std::vector<Part> parts)
      : stream_(stream), parts_(std::move(parts)) {}

  void run() override {
    for (const Part& part : parts_) {
      if (const auto* graph = std::get_if<ExecutableGraphOwner>(&part)) {
        check_cuda(cudaGraphLaunch(graph->get(), stream_.handle()), "cudaGraphLaunch");
      } else {
        stream_.synchronize();
        std::get<HostCode>(part).code();
      }
    }
  }

 private:
  RecordingStream& stream_;
  std::vector<Part> parts_;
};

class EagerProgram final : public Program {
 public:
  explicit EagerProgram(std::vector<std::function<void()>> work) : work_(std::move(work)) {}
  void run() override {
    for (const auto& work : work_) work();
  }

 private:
  std::vector<std::function<void()>> work_;
};

/// Memory may be taken in the middle of a recording: CUDA refuses that to a thread that captures, unless told
/// that it is no part of what is captured.
class AllowedInCapture {
 public:
  AllowedInCapture() { exchange(); }
  ~AllowedInCapture() { exchange(); }
  AllowedInCapture(const AllowedInCapture&) = delete;
  AllowedInCapture& operator=(const AllowedInCapture&) = delete;

 private:
  void exchange() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// Throws Error(resource) saying why there is no GPU to compute on.
int device_count() {
  const std::string why = why_no_cuda();
  if (!why.empty()) throw Error(Category::resource, why);
  int count = 0;
  check_cuda(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  return count;
}

class NativeDevice final : public Device {
 public:
  explicit NativeDevice(const CudaOptions& options)
      : device_(options.local_rank % device_count()), stream_(select(device_, options.graphs)) {
    streams_[0] = &stream_;
  }

  Buffer allocate(std::size_t bytes) override {
    if (bytes == 0) return {};
    const AllowedInCapture allowed;
    void* data = nullptr;
    const cudaError_t code = cudaMalloc(&data, bytes);
    if (code == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      std::size_t free = 0, total = 0;
      check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
      throw Error(Category::resource,
                  fmt::format("GPU {}: not enough memory: {} MB wanted, {} of {} MB are free", device_,
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
    const AllowedInCapture allowed;
    void* data = nullptr;
    check_cuda(cudaMallocHost(&data, bytes), "cudaMallocHost");
    std::fill_n(static_cast<std::byte*>(data), bytes, std::byte{0});
    return {data, bytes, [](void* address) { cudaFreeHost(address); }};
  }

  Buffer mirror(const Buffer& buffer) override { return allocate_host(buffer.bytes()); }

  void copy(void* to, const void* from, std::size_t bytes) override {
    if (!stream_.recording()) stream_.synchronize();
    const AllowedInCapture allowed;
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, copies_.get()), "cudaMemcpyAsync");
    check_cuda(cudaStreamSynchronize(copies_.get()), "cudaStreamSynchronize");
  }
  void copy(Stream& stream, void* to, const void* from, std::size_t bytes) override {
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, handle_of(stream)), "cudaMemcpyAsync");
  }

  std::span<Stream* const> streams() override { return streams_; }
  void while_waiting(std::function<void()> look) override { stream_.while_waiting(std::move(look)); }

  std::unique_ptr<Program> record(const std::function<void()>& work) override {
    stream_.begin();
    try {
      work();
      std::vector<Part> parts = stream_.end();
      std::vector<std::function<void()>> eager = stream_.take_work();
      if (!eager.empty()) return std::make_unique<EagerProgram>(std::move(eager));
      return std::make_unique<GraphProgram>(stream_, std::move(parts));
    } catch (...) {
      stream_.abandon();
      throw;
    }
  }

 private:
  static bool select(int device, bool graphs) {
    check_cuda(cudaSetDevice(device), "cudaSetDevice");
    return graphs;
  }

  int device_;
  RecordingStream stream_;
  StreamOwner copies_ = make_stream();  ///< of what is done at once, while the other may be recording
  std::array<Stream*, 1> streams_{};
};

}  // namespace

StreamHandle handle_of(const Stream& stream) { return static_cast<const CudaStream&>(stream).handle(); }

std::unique_ptr<Device> make_cuda_device(const CudaOptions& options) {
  return std::make_unique<NativeDevice>(options);
}

}  // namespace lockstep::cuda
