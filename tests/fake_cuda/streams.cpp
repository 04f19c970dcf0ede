#include <algorithm>
#include <array>

#include "fake_cuda/machine.h"

namespace fake = lockstep::fake_cuda;

namespace {

cudaError_t create_stream(const char* function, cudaStream_t* stream, unsigned flags, int priority) {
  return fake::call(function, [&](fake::Machine& all, auto&) {
    if (flags != cudaStreamNonBlocking) all.fault(std::string(function) + ": it waits for the null stream");
    *stream = all.new_handle<cudaStream_t>();
    all.streams[*stream].thread = std::this_thread::get_id();
    all.streams[*stream].priority = priority;
    return cudaSuccess;
  });
}

/// Waits for an event of a capture. The stream joins the capture unless it already takes part.
cudaError_t wait_in_capture(fake::StreamState& stream, const fake::EventState& event) {
  if (event.capture->ended || (stream.capture && stream.capture != event.capture)) {
    if (stream.capture) stream.capture->invalid = true;
    return stream.capture && !event.capture->ended ? cudaErrorStreamCaptureMerge
                                                   : cudaErrorStreamCaptureIsolation;
  }
  stream.capture = event.capture;
  stream.ends.insert(event.nodes.begin(), event.nodes.end());
  return cudaSuccess;
}

/// Number of queries that are answered "not ready" after work was added.
constexpr int busy_answers = 70;

}  // namespace

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return create_stream("cudaStreamCreateWithFlags", stream, flags, 0);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return create_stream("cudaStreamCreateWithPriority", stream, flags, priority);
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return fake::call_on(stream, "cudaStreamGetPriority", [&](auto&, auto&, auto& state) {
    *priority = state.priority;
    return cudaSuccess;
  });
}

/// Does not wait for the stream's work.
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return fake::call_on(stream, "cudaStreamDestroy", [&](auto& all, auto&, auto& state) {
    if (state.capture) {
      all.fault("cudaStreamDestroy: the stream is capturing");
      state.capture->invalid = true;
    }
    if (state.last) all.left_behind.push_back(state.last);
    all.streams.erase(stream);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return fake::call_on(stream, "cudaStreamSynchronize", [&](auto& all, auto& lock, auto& state) {
    if (state.capture) return all.refuse_in_capture(state);
    return state.last ? all.run(lock, state.last) : cudaSuccess;
  });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return fake::call_on(stream, "cudaStreamQuery", [&](auto& all, auto& lock, auto& state) {
    if (state.capture) return all.refuse_in_capture(state);
    if (!state.last || state.last->state == fake::Task::State::done) return cudaSuccess;
    if (state.busy_answers++ < busy_answers) return cudaErrorNotReady;
    return all.run(lock, state.last);
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned /*flags*/) {
  return fake::call("cudaStreamWaitEvent", [&](fake::Machine& all, auto& lock) {
    fake::StreamState* state = all.find(stream, "cudaStreamWaitEvent");
    const fake::EventState* what = all.find(event, "cudaStreamWaitEvent");
    if (state == nullptr || what == nullptr) return cudaErrorInvalidResourceHandle;
    if (!what->recorded) {
      all.fault("cudaStreamWaitEvent: the event was never recorded, so nothing is waited for");
      return cudaSuccess;
    }
    if (what->capture) return wait_in_capture(*state, *what);
    if (state->capture) {
      state->capture->invalid = true;
      return cudaErrorStreamCaptureIsolation;
    }
    if (what->task) all.enqueue(lock, *state, {}, what->task);
    return cudaSuccess;
  });
}

/// The function runs only when the host waits for the stream, even with Order::early.
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return fake::call_on(stream, "cudaLaunchHostFunc", [&](auto& all, auto& lock, auto& state) {
    return all.submit(
        lock, state,
        {.name = "function of the host", .run = [=] { function(data); }, .is_host_function = true});
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return fake::call("cudaEventCreateWithFlags", [&](fake::Machine& all, auto&) {
    *event = all.new_handle<cudaEvent_t>();
    all.events[*event].timing = (flags & cudaEventDisableTiming) == 0;
    return cudaSuccess;
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return fake::call_on(event, "cudaEventDestroy", [&](auto& all, auto&, auto&) {
    all.events.erase(event);
    return cudaSuccess;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return fake::call("cudaEventRecord", [&](fake::Machine& all, auto&) {
    fake::StreamState* state = all.find(stream, "cudaEventRecord");
    fake::EventState* what = all.find(event, "cudaEventRecord");
    if (state == nullptr || what == nullptr) return cudaErrorInvalidResourceHandle;
    if (state->capture && state->capture->invalid) return cudaErrorStreamCaptureInvalidated;
    what->recorded = true;
    what->recorded_at = all.clock();
    what->busy_answers = 0;
    what->capture = state->capture;
    what->nodes = state->ends;
    what->task = state->capture ? nullptr : state->last;
    return cudaSuccess;
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return fake::call_on(event, "cudaEventQuery", [&](auto& all, auto& lock, auto& what) {
    if (what.capture) {
      what.capture->invalid = true;
      return cudaErrorCapturedEvent;
    }
    if (!what.task || what.task->state == fake::Task::State::done) return cudaSuccess;
    if (what.busy_answers++ < busy_answers) return cudaErrorNotReady;
    return all.run(lock, what.task);
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return fake::call("cudaEventElapsedTime", [&](fake::Machine& all, auto&) {
    std::array<double, 2> times{};
    const std::array<cudaEvent_t, 2> both{start, end};
    for (std::size_t i = 0; i < 2; ++i) {
      const fake::EventState* event = all.find(both[i], "cudaEventElapsedTime");
      if (event == nullptr || !event->recorded || !event->timing || event->capture)
        return cudaErrorInvalidResourceHandle;
      if (event->task && event->task->state != fake::Task::State::done) return cudaErrorNotReady;
      times[i] = std::max(event->recorded_at, event->task ? event->task->end : 0.0);
    }
    *milliseconds = static_cast<float>((times[1] - times[0]) / 1000.0);
    return cudaSuccess;
  });
}
