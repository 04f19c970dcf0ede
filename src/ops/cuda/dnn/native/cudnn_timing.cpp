#include "ops/cuda/dnn/native/cudnn_timing.h"

#include <algorithm>
#include <vector>

#include "device/cuda/native/check.h"
#include "device/cuda/native/handles.h"

namespace lockstep::cuda {
namespace {

using DeviceMemory = Handle<void*, cudaFree>;

/// Number of engines to time: later ones are rarely faster.
constexpr std::size_t engines_tried = 10;
constexpr int runs = 5;  ///< timed one by one; the minimum counts

DeviceMemory zeros(std::size_t bytes) {
  if (bytes == 0) return {};
  void* address = nullptr;
  check_cuda(cudaMalloc(&address, bytes), "cudaMalloc (timing of cuDNN's engines)");
  DeviceMemory memory(address);
  check_cuda(cudaMemset(address, 0, bytes), "cudaMemset");
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");  // another stream reads the memory
  return memory;
}

class Stopwatch {
 public:
  Stopwatch() : start_(event()), stop_(event()) {
    cudaStream_t stream = nullptr;
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    stream_ = StreamOwner(stream);
  }

  cudaStream_t stream() const { return stream_.get(); }

  template <class Work>
  double microseconds(const Work& work) const {
    check_cuda(cudaEventRecord(start_.get(), stream()), "cudaEventRecord");
    work();
    check_cuda(cudaEventRecord(stop_.get(), stream()), "cudaEventRecord");
    check_cuda(cudaEventSynchronize(stop_.get()), "timing of cuDNN's engines");
    float milliseconds = 0.0F;
    check_cuda(cudaEventElapsedTime(&milliseconds, start_.get(), stop_.get()), "cudaEventElapsedTime");
    return 1000.0 * static_cast<double>(milliseconds);
  }

 private:
  static EventOwner event() {
    cudaEvent_t raw = nullptr;
    check_cuda(cudaEventCreate(&raw), "cudaEventCreate");
    return EventOwner(raw);
  }

  EventOwner start_, stop_;
  StreamOwner stream_;
};

double time_of(const CudnnGraph& graph, std::size_t engine, std::span<void* const> tensors,
               const Stopwatch& watch) {
  const DeviceMemory workspace = zeros(graph.workspace_bytes(engine));
  const auto run = [&] { graph.run(engine, watch.stream(), tensors, workspace.get()); };
  double fastest = watch.microseconds(run);  // the first run loads the code
  for (int i = 0; i < runs; ++i) fastest = std::min(fastest, watch.microseconds(run));
  return fastest;
}

}  // namespace

std::optional<TimedEngine> fastest_engine(CudnnGraph& graph) {
  const Stopwatch watch;
  std::vector<DeviceMemory> memory;
  std::vector<void*> tensors;
  for (const std::size_t bytes : graph.tensor_bytes()) {
    memory.push_back(zeros(bytes));
    tensors.push_back(memory.back().get());
  }
  std::optional<TimedEngine> fastest;
  std::size_t tried = 0;
  for (std::size_t engine = 0; engine < graph.engines().size() && tried < engines_tried; ++engine) {
    if (!graph.build(engine)) continue;
    ++tried;
    const double time = time_of(graph, engine, tensors, watch);
    if (!fastest || time < fastest->microseconds) fastest = TimedEngine{engine, time};
  }
  return fastest;
}

}  // namespace lockstep::cuda
