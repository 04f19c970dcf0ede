#include "device/cuda/native/streams.h"

#include <cuda_runtime_api.h>
#include <sched.h>
#include <unistd.h>

#include "device/cuda/native/check.h"
#include "device/kernel_times.h"
#include "lockstep/error.h"

namespace lockstep::cuda {

StreamOwner make_stream() {
  cudaStream_t raw = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&raw, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return StreamOwner(raw);
}

StreamOwner make_stream_of_highest_priority() {
  int lowest = 0, highest = 0;
  check_cuda(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "cudaDeviceGetStreamPriorityRange");
  cudaStream_t raw = nullptr;
  check_cuda(cudaStreamCreateWithPriority(&raw, cudaStreamNonBlocking, highest),
             "cudaStreamCreateWithPriority");
  return StreamOwner(raw);
}

namespace {

EventOwner make_event_with(unsigned flags) {
  cudaEvent_t raw = nullptr;
  check_cuda(cudaEventCreateWithFlags(&raw, flags), "cudaEventCreateWithFlags");
  return EventOwner(raw);
}

}  // namespace

EventOwner make_event() { return make_event_with(cudaEventDisableTiming); }
EventOwner make_timed_event() { return make_event_with(cudaEventDefault); }

Event EventPool::take() {
  if (used_ == events_.size()) events_.push_back(make_event());
  return {static_cast<int>(used_++)};
}

void OrderedStream::call(std::function<void()> /*work*/, Phase /*phase*/) {
  throw Error(Category::internal, "a call of the host was added to a stream that cannot make it");
}

Event OrderedStream::record() {
  const Event event = events_.take();
  check_cuda(cudaEventRecord(events_[event], handle()), "cudaEventRecord");
  return event;
}

void OrderedStream::wait(Event event) {
  check_cuda(cudaStreamWaitEvent(handle(), events_[event], cudaEventWaitDefault), "cudaStreamWaitEvent");
}

class RecordingStream::GraphProgram final : public Program {
 public:
  GraphProgram(RecordingStream& stream, std::vector<Part> parts)
      : stream_(stream), parts_(std::move(parts)) {}

  void run() override {
    for (const Part& part : parts_) {
      if (const auto* graph = std::get_if<SubmittedGraph>(&part)) {
        stream_.submit(*graph);
      } else {
        stream_.make_call(std::get<HostCall>(part));
      }
    }
  }

 private:
  RecordingStream& stream_;
  std::vector<Part> parts_;
};

class RecordingStream::EagerProgram final : public Program {
 public:
  EagerProgram(RecordingStream& stream, std::function<void()> describe)
      : stream_(stream), describe_(std::move(describe)) {}

  void run() override {
    stream_.events_.reuse();
    stream_.begin_part();
    stream_.fork();
    describe_();
    stream_.join();
    if (KernelTimes* const times = KernelTimes::of_thread()) times->end_program();
  }

 private:
  RecordingStream& stream_;
  std::function<void()> describe_;
};

void RecordingStream::call(std::function<void()> work, Phase /*phase*/) {
  add_call({std::move(work), false});
}

void RecordingStream::call_at_submission(std::function<void()> work) { add_call({std::move(work), true}); }

void RecordingStream::add_call(HostCall call) {
  if (!graphs_) return make_call(call);
  if (!recording_) throw Error(Category::internal, "work was given to a stream outside of a recording");
  end_capture();
  parts_.emplace_back(std::move(call));
  begin_capture();
}

void RecordingStream::make_call(const HostCall& call) {
  if (!graphs_) join();
  if (!call.at_submission) synchronize();
  call.work();
  if (graphs_) return;
  begin_part();
  fork();
}

void RecordingStream::fork() {
  if (branches_.empty()) return;
  const Event here = record();
  for (OrderedStream* const branch : branches_) branch->wait(here);
}

void RecordingStream::join() {
  for (OrderedStream* const branch : branches_) wait(branch->record());
}

void RecordingStream::begin_part() {
  if (KernelTimes* const times = KernelTimes::of_thread()) times->begin_part(handle());
}
void RecordingStream::end_part() {
  if (KernelTimes* const times = KernelTimes::of_thread()) times->end_part();
}

/// Submits a graph. Limits the submitted graphs that have not run to two, or to about 800 nodes if graphs are
/// smaller: with 60 graphs of ResNet-18 submitted, the driver spent more than half of the time spinning until
/// its queue had room.
void RecordingStream::submit(const SubmittedGraph& graph) {
  constexpr std::size_t between_marks = 256;
  check_cuda(cudaGraphLaunch(graph.graph.get(), handle()), "cudaGraphLaunch");
  submitted_ += graph.nodes;
  if (submitted_ < between_marks) return;
  submitted_ = 0;
  check_cuda(cudaEventRecord(marks_[marks_made_++ % marks_.size()].get(), handle()), "cudaEventRecord");
  const EventOwner& oldest = marks_[marks_made_ % marks_.size()];
  if (marks_made_ < marks_.size()) return;
  wait_until_done([&] { return cudaEventQuery(oldest.get()); }, "cudaEventQuery");
}

void RecordingStream::synchronize(cudaStream_t stream) {
  end_part();
  if (!look_) return check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  wait_until_done([&] { return cudaStreamQuery(stream); }, "cudaStreamQuery");
}

/// Calls `look_` while waiting, because the work may depend on other ranks.
template <class Query>
void RecordingStream::wait_until_done(const Query& query, const char* what) {
  constexpr unsigned yields = 64;
  for (unsigned polls = 1;; ++polls) {
    const cudaError_t code = query();
    if (code != cudaErrorNotReady) return check_cuda(code, what);
    cudaGetLastError();  // clears cudaErrorNotReady, which some runtimes return again from later calls
    if (polls < yields) {
      sched_yield();
    } else {
      usleep(50);
    }
    if (look_ && polls % yields == 0) look_();
  }
}

std::unique_ptr<Program> RecordingStream::make_program(std::function<void()> describe) {
  if (!graphs_) return std::make_unique<EagerProgram>(*this, std::move(describe));
  recording_ = true;
  events_.reuse();
  try {
    begin_capture();
    describe();
    end_capture();
  } catch (...) {
    abandon();
    throw;
  }
  recording_ = false;
  return std::make_unique<GraphProgram>(*this, std::exchange(parts_, {}));
}

void RecordingStream::abandon() noexcept {
  recording_ = false;
  parts_.clear();
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(handle(), &status) == cudaSuccess && status != cudaStreamCaptureStatusNone) {
    cudaGraph_t graph = nullptr;
    cudaStreamEndCapture(handle(), &graph);
    const GraphOwner owner(graph);
  }
  cudaGetLastError();
}

/// The mode is relaxed because memory is allocated during recordings, and libraries load code when it is
/// first launched; neither is part of the capture.
void RecordingStream::begin_capture() {
  check_cuda(cudaStreamBeginCapture(handle(), cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
  fork();
}

/// Nodes keep the priority of the stream on which they were captured, instead of getting the launch stream's.
void RecordingStream::end_capture() {
  join();
  cudaGraph_t raw = nullptr;
  check_cuda(cudaStreamEndCapture(handle(), &raw), "cudaStreamEndCapture");
  const GraphOwner graph(raw);
  std::size_t nodes = 0;
  check_cuda(cudaGraphGetNodes(graph.get(), nullptr, &nodes), "cudaGraphGetNodes");
  if (nodes == 0) return;
  cudaGraphExec_t executable = nullptr;
  check_cuda(cudaGraphInstantiate(&executable, graph.get(), cudaGraphInstantiateFlagUseNodePriority),
             "cudaGraphInstantiate");
  parts_.emplace_back(SubmittedGraph{ExecutableGraphOwner(executable), nodes});
}

}  // namespace lockstep::cuda
