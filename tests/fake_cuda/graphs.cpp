#include <algorithm>

#include "fake_cuda/machine.h"

namespace fake = lockstep::fake_cuda;

namespace {

/// Whether all captured work is joined to the stream that began the capture, whose last nodes are `ends`.
bool is_joined(const fake::Nodes& nodes, const std::set<std::size_t>& ends) {
  std::set<std::size_t> before;
  std::vector<std::size_t> found(ends.begin(), ends.end());
  while (!found.empty()) {
    const std::size_t node = found.back();
    found.pop_back();
    if (before.insert(node).second)
      found.insert(found.end(), nodes[node].after.begin(), nodes[node].after.end());
  }
  return before.size() == nodes.size();
}

/// Order that runs each node after its dependencies and, among nodes that are ready, picks the one captured
/// last.
std::vector<std::size_t> reversed_order(const fake::Nodes& nodes) {
  std::vector<std::size_t> order, missing;
  std::vector<std::vector<std::size_t>> followers(nodes.size());
  std::set<std::size_t> ready;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    missing.push_back(nodes[i].after.size());
    if (missing.back() == 0) ready.insert(i);
    for (const std::size_t before : nodes[i].after) followers[before].push_back(i);
  }
  while (!ready.empty()) {
    order.push_back(*ready.rbegin());
    ready.erase(order.back());
    for (const std::size_t follower : followers[order.back()]) {
      if (--missing[follower] == 0) ready.insert(follower);
    }
  }
  return order;
}

std::vector<fake::Work> works_of(const fake::Nodes& nodes, fake::Order order) {
  std::vector<fake::Work> works;
  if (order == fake::Order::reversed) {
    for (const std::size_t i : reversed_order(nodes)) works.push_back(nodes[i].work);
  } else {
    for (const fake::Node& node : nodes) works.push_back(node.work);
  }
  return works;
}

/// Ends the capture on all its streams.
void close(fake::Machine& all, const std::shared_ptr<fake::Capture>& capture) {
  capture->ended = true;
  all.captures.erase(capture);
  for (auto& [handle, stream] : all.streams) {
    if (stream.capture != capture) continue;
    stream.capture = nullptr;
    stream.ends.clear();
  }
}

}  // namespace

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return fake::call_on(stream, "cudaStreamBeginCapture", [&](auto& all, auto&, auto& state) {
    if (state.capture) return cudaErrorIllegalState;
    state.capture = std::make_shared<fake::Capture>(fake::Capture{.origin = stream, .mode = mode});
    all.captures.insert(state.capture);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = nullptr;
  return fake::call_on(stream, "cudaStreamEndCapture", [&](fake::Machine& all, auto&, auto& state) {
    if (!state.capture) return cudaErrorIllegalState;
    const std::shared_ptr<fake::Capture> capture = state.capture;
    if (capture->origin != stream) {
      capture->invalid = true;
      return cudaErrorStreamCaptureUnmatched;
    }
    const bool joined = is_joined(capture->nodes, state.ends);
    close(all, capture);
    if (capture->invalid) return cudaErrorStreamCaptureInvalidated;
    if (!joined) return cudaErrorStreamCaptureUnjoined;
    std::vector<std::string> names;
    for (const fake::Node& node : capture->nodes) names.push_back(node.work.name);
    if (!names.empty()) all.captured.push_back(std::move(names));
    *graph = all.new_handle<cudaGraph_t>();
    all.graphs[*graph] = std::make_shared<const fake::Nodes>(std::move(capture->nodes));
    return cudaSuccess;
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return fake::call_on(stream, "cudaStreamIsCapturing", [&](auto&, auto&, auto& state) {
    *status = !state.capture           ? cudaStreamCaptureStatusNone
              : state.capture->invalid ? cudaStreamCaptureStatusInvalidated
                                       : cudaStreamCaptureStatusActive;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  return fake::call_on(graph, "cudaGraphGetNodes", [&](auto&, auto&, auto& found) {
    if (nodes != nullptr) return cudaErrorInvalidValue;
    *count = found->size();
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  return fake::call_on(graph, "cudaGraphInstantiate", [&](fake::Machine& all, auto&, auto& found) {
    if ((flags & cudaGraphInstantiateFlagUseNodePriority) == 0 &&
        std::ranges::any_of(*found, [](const fake::Node& node) { return node.priority != 0; })) {
      all.fault("cudaGraphInstantiate: the graph loses the priority of a stream");
    }
    *executable = all.new_handle<cudaGraphExec_t>();
    all.executables[*executable] = found;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return fake::call_on(graph, "cudaGraphDestroy", [&](auto& all, auto&, auto&) {
    all.graphs.erase(graph);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return fake::call_on(executable, "cudaGraphExecDestroy", [&](auto& all, auto&, auto&) {
    all.executables.erase(executable);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  return fake::call("cudaGraphLaunch", [&](fake::Machine& all, auto& lock) {
    const auto* found = all.find(executable, "cudaGraphLaunch");
    fake::StreamState* state = all.find(stream, "cudaGraphLaunch");
    if (found == nullptr || state == nullptr) return cudaErrorInvalidResourceHandle;
    if (state->capture) {
      all.fault("cudaGraphLaunch: the stream is capturing");
      return fake::Machine::refuse_in_capture(*state);
    }
    all.enqueue(lock, *state, works_of(**found, all.order));
    return all.broken;
  });
}
