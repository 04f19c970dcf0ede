#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include "device/cuda/cuda_device.h"
#include "device/cuda/native/handles.h"

namespace lockstep::cuda {

StreamOwner make_stream();
/// Makes a stream whose kernels start before pending kernels of other streams, also in graphs.
StreamOwner make_stream_of_highest_priority();
EventOwner make_event();
/// Event whose time can be read.
EventOwner make_timed_event();

/// Events for all streams of a device.
class EventPool {
 public:
  Event take();
  cudaEvent_t operator[](Event event) const {
    return events_.at(static_cast<std::size_t>(event.index)).get();
  }
  /// Makes all events available again. All waits for the events must have been submitted.
  void reuse() { used_ = 0; }

 private:
  std::vector<EventOwner> events_;
  std::size_t used_ = 0;
};

/// A stream without host calls, ordered with other streams by events.
class OrderedStream : public CudaStream {
 public:
  OrderedStream(EventPool& events, StreamOwner stream) : events_(events), stream_(std::move(stream)) {}

  StreamHandle handle() const override { return stream_.get(); }
  /// Throws Error(internal).
  void call(std::function<void()> work, Phase phase) override;
  Event record() override;
  void wait(Event event) override;

 protected:
  EventPool& events_;

 private:
  StreamOwner stream_;
};

/// A stream that records by capture: launches become a graph; a host call ends one graph and begins the next.
/// Without graphs, the description is stored and called in each run.
class RecordingStream final : public OrderedStream {
 public:
  RecordingStream(EventPool& events, bool graphs) : OrderedStream(events, make_stream()), graphs_(graphs) {}

  void call(std::function<void()> work, Phase phase) override;
  /// Adds a host call of `work`, made in each run once the earlier work has been submitted; that work may
  /// still be running. `work` may submit work to this and other streams; nothing is captured meanwhile.
  void call_at_submission(std::function<void()> work);

  /// Waits until all work is done. Meanwhile, calls the function set by while_waiting.
  void synchronize() { synchronize(handle()); }
  /// Same for the work of another stream.
  void synchronize(cudaStream_t stream);
  void while_waiting(std::function<void()> look) { look_ = std::move(look); }

  /// Makes `branch` run concurrently with this stream; `branch` must outlive the recordings. In each run, the
  /// branch's work starts after all work submitted before the run, and this stream waits for the branch at
  /// the end. The same applies before and after host calls.
  void add_branch(OrderedStream& branch) { branches_.push_back(&branch); }

  bool recording() const { return recording_; }
  /// Implements Device::record; the program refers to this stream.
  std::unique_ptr<Program> make_program(std::function<void()> describe);

 private:
  struct SubmittedGraph {
    ExecutableGraphOwner graph;
    std::size_t nodes;
  };
  /// Host call in a program.
  struct HostCall {
    std::function<void()> work;
    bool at_submission;  ///< true: made once earlier work is submitted; false: once it is done
  };
  using Part = std::variant<SubmittedGraph, HostCall>;
  class GraphProgram;
  class EagerProgram;

  void submit(const SubmittedGraph& graph);
  template <class Query>
  void wait_until_done(const Query& query, const char* what);
  void add_call(HostCall call);
  void make_call(const HostCall& call);
  // Begin and end a part of the launches that KernelTimes measures; the GPU starts once the whole part is
  // submitted.
  void begin_part();
  static void end_part();

  /// Makes the branches start after the work of this stream.
  void fork();
  /// Makes this stream wait for the work of the branches.
  void join();
  void begin_capture();
  void end_capture();
  /// Ends a recording after an exception.
  void abandon() noexcept;

  bool graphs_;
  bool recording_ = false;
  std::function<void()> look_;
  std::vector<Part> parts_;
  std::vector<OrderedStream*> branches_;
  std::size_t submitted_ = 0;  ///< nodes submitted since the last mark
  std::size_t marks_made_ = 0;
  std::array<EventOwner, 2> marks_ = {make_event(), make_event()};  ///< recorded in turn by submit()
};

}  // namespace lockstep::cuda
