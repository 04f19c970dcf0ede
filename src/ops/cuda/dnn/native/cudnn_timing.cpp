#include "ops/cuda/dnn/native/cudnn_timing.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "device/cuda/native/check.h"
#include "device/cuda/native/streams.h"
#include "lockstep/error.h"

namespace lockstep::cuda {
namespace {

using DeviceMemory = Handle<void*, cudaFree>;

/// Number of engines to time; later engines are rarely faster.
constexpr std::size_t engines_tried = 10;
/// Consecutive runs of a round. More than one, because starting a graph costs about as much as a short
/// kernel.
constexpr int runs = 20;
constexpr std::size_t rounds = 3;  ///< the median round is used

DeviceMemory memory_of(std::size_t bytes) {
  if (bytes == 0) return {};
  void* address = nullptr;
  check_cuda(cudaMalloc(&address, bytes), "cudaMalloc (timing of cuDNN's engines)");
  return DeviceMemory(address);
}

DeviceMemory zeros(std::size_t bytes, cudaStream_t stream) {
  DeviceMemory memory = memory_of(bytes);
  if (bytes > 0) check_cuda(cudaMemsetAsync(memory.get(), 0, bytes, stream), "cudaMemsetAsync");
  return memory;
}

/// Numbers of magnitude 0.5 to 1, whether read as float or as bfloat16: each half of a word has the exponent
/// of 0.5.
DeviceMemory random_numbers(std::size_t bytes, std::uint32_t seed, cudaStream_t stream) {
  constexpr std::uint32_t sign_and_mantissa = 0x807f807fU, exponent = 0x3f003f00U;
  constexpr std::size_t words = 262139;  // period of the numbers; a prime, so that rows of a tensor differ
  std::mt19937 generator(seed);
  std::vector<std::uint32_t> numbers(std::min(words, bytes / sizeof(std::uint32_t) + 1));
  for (std::uint32_t& each : numbers) {
    each = (static_cast<std::uint32_t>(generator()) & sign_and_mantissa) | exponent;
  }
  DeviceMemory memory = memory_of(bytes);
  const std::size_t at_once = numbers.size() * sizeof(std::uint32_t);
  for (std::size_t first = 0; first < bytes; first += at_once) {
    check_cuda(cudaMemcpyAsync(static_cast<std::byte*>(memory.get()) + first, numbers.data(),
                               std::min(at_once, bytes - first), cudaMemcpyHostToDevice, stream),
               "cudaMemcpyAsync");
  }
  check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");  // before the numbers are freed
  return memory;
}

/// `work` as a graph; null if it cannot be captured.
ExecutableGraphOwner captured(cudaStream_t stream, const std::function<void()>& work) {
  check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
  bool is_complete = true;
  try {
    work();
  } catch (const Error&) {
    is_complete = false;
  }
  cudaGraph_t raw = nullptr;
  const bool has_ended = cudaStreamEndCapture(stream, &raw) == cudaSuccess;
  const GraphOwner graph(raw);
  cudaGraphExec_t executable = nullptr;
  if (is_complete && has_ended && cudaGraphInstantiate(&executable, raw, 0) == cudaSuccess)
    return ExecutableGraphOwner(executable);
  cudaGetLastError();  // clears the error, which later calls would return
  return {};
}

/// Times rounds of work on a stream.
class Stopwatch {
 public:
  Stopwatch() : stream_(make_stream()) {
    for (EventOwner& each : events_) each = make_timed_event();
  }

  cudaStream_t stream() const { return stream_.get(); }

  void synchronize() const { check_cuda(cudaStreamSynchronize(stream()), "timing of cuDNN's engines"); }

  /// Median time of the rounds. During an additional first round, the host submits the others, so that the
  /// GPU does not wait for the host between the events.
  double microseconds(const std::function<void()>& submit_round) const {
    submit_round();
    check_cuda(cudaEventRecord(events_[0].get(), stream()), "cudaEventRecord");
    for (std::size_t i = 0; i < rounds; ++i) {
      submit_round();
      check_cuda(cudaEventRecord(events_[i + 1].get(), stream()), "cudaEventRecord");
    }
    synchronize();
    std::array<float, rounds> milliseconds{};
    for (std::size_t i = 0; i < rounds; ++i) {
      check_cuda(cudaEventElapsedTime(&milliseconds[i], events_[i].get(), events_[i + 1].get()),
                 "cudaEventElapsedTime");
    }
    std::ranges::sort(milliseconds);
    return 1000.0 * static_cast<double>(milliseconds[rounds / 2]);
  }

 private:
  StreamOwner stream_;
  std::array<EventOwner, rounds + 1> events_;
};

/// Microseconds of a run; empty if cuDNN refuses to run the engine.
std::optional<double> time_of(const CudnnGraph& graph, std::size_t engine, std::span<void* const> tensors,
                              const Stopwatch& watch) {
  const cudaStream_t stream = watch.stream();
  const DeviceMemory workspace = zeros(graph.workspace_bytes(engine), stream);
  const auto run = [&] { graph.run(engine, stream, tensors, workspace.get()); };
  const auto run_all = [&] {
    for (int i = 0; i < runs; ++i) run();
  };
  try {
    run();  // loads the code
  } catch (const Error&) {
    watch.synchronize();  // throws if the GPU has failed
    return std::nullopt;
  }
  watch.synchronize();
  const ExecutableGraphOwner all = captured(stream, run_all);
  if (all.get() == nullptr) return watch.microseconds(run_all) / runs;
  return watch.microseconds([&] { check_cuda(cudaGraphLaunch(all.get(), stream), "cudaGraphLaunch"); }) /
         runs;
}

}  // namespace

std::optional<TimedEngine> fastest_engine(CudnnGraph& graph) {
  const Stopwatch watch;
  std::vector<DeviceMemory> memory;
  std::vector<void*> tensors;
  for (const std::size_t bytes : graph.tensor_bytes()) {
    memory.push_back(random_numbers(bytes, static_cast<std::uint32_t>(memory.size()), watch.stream()));
    tensors.push_back(memory.back().get());
  }
  std::optional<TimedEngine> fastest;
  std::size_t tried = 0;
  for (std::size_t engine = 0; engine < graph.engines().size() && tried < engines_tried; ++engine) {
    if (!graph.build(engine)) continue;
    const auto time = time_of(graph, engine, tensors, watch);
    if (!time) continue;
    ++tried;
    if (!fastest || *time < fastest->microseconds) fastest = TimedEngine{engine, *time};
  }
  return fastest;
}

}  // namespace lockstep::cuda
