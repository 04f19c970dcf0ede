#pragma once

#include <bit>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <thread>
#include <type_traits>
#include <vector>

#include "fake_cuda/fake_cuda.h"

/// State of the runtime, and rules that several of its functions share.
namespace lockstep::fake_cuda {

enum class Kind { device, host };

/// Memory from cudaMalloc or cudaMallocHost. A range of pages; writes after the end are detected.
struct Allocation {
  std::size_t bytes = 0, mapped = 0;
  Kind kind = Kind::device;
  std::uint64_t writes = 0;  ///< number of works that may have written to the memory
};

/// A kernel, copy, memset or host function, independent of a stream.
struct Work {
  std::string name;
  std::function<void()> run;
  std::vector<const void*> memory = {};  ///< allocations that the work uses
  bool is_host_function = false;
  std::span<const std::byte> source = {};  ///< pinned memory that a copy reads
};

/// Source of a copy, with its contents when the copy was submitted.
struct Source {
  std::span<const std::byte> memory;
  std::vector<std::byte> bytes;
  std::uint64_t writes;
};

/// Submitted work.
struct Task {
  std::uint64_t number = 0;
  std::vector<Work> works;  ///< one, or the nodes of a graph
  std::vector<Source> sources;
  std::vector<std::shared_ptr<Task>> after;
  enum class State { waiting, running, done } state = State::waiting;
  bool held = false;  ///< whether the task is a host function or waits for one
  double end = 0.0;   ///< time on the clock, if done
};

struct Node {
  Work work;
  std::set<std::size_t> after;
  int priority = 0;  ///< of the stream on which it was captured
};

struct Capture {
  cudaStream_t origin = nullptr;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::vector<Node> nodes = {};
  bool invalid = false, ended = false;
};

struct StreamState {
  std::thread::id thread;      ///< thread that made the stream
  std::shared_ptr<Task> last;  ///< null: no work yet
  std::shared_ptr<Capture> capture;
  std::set<std::size_t> ends;  ///< nodes of the capture that the next node depends on
  int busy_answers = 0;        ///< answers "not ready" since work was added
  int priority = 0;            ///< negative: higher than usual
};

struct EventState {
  bool recorded = false, timing = true;
  double recorded_at = 0.0;  ///< time on the clock
  int busy_answers = 0;      ///< answers "not ready" since it was recorded
  std::shared_ptr<Task> task;
  std::shared_ptr<Capture> capture;
  std::set<std::size_t> nodes;
};

using Nodes = std::vector<Node>;

class Machine {
 public:
  ~Machine();

  // Rules. Callers must hold the lock; run() releases it while work runs.
  void fault(const std::string& text) { faults.push_back(text); }
  /// Refuses a call that no capture allows on `stream`: invalidates the capture and returns the error.
  static cudaError_t refuse_in_capture(StreamState& stream);
  /// Refuses a call that only relaxed captures allow: invalidates other captures. Returns success if there
  /// are none.
  cudaError_t refuse_in_strict_captures();
  cudaError_t submit(std::unique_lock<std::mutex>& lock, StreamState& stream, Work work);
  /// `after`: work of another stream that must run before; null: none.
  void enqueue(std::unique_lock<std::mutex>& lock, StreamState& stream, std::vector<Work> works,
               std::shared_ptr<Task> after = nullptr);
  /// Faults: memory that was freed before the work ran, and a source that the host has changed since
  /// submission.
  void check_memory(const Task& task);
  /// Unfinished work that `last` depends on, in the order of submission, which ends with `last`.
  static std::vector<std::shared_ptr<Task>> unfinished(const std::shared_ptr<Task>& last);
  /// Runs the task and the tasks that it depends on. Rethrows exceptions of the work.
  cudaError_t run(std::unique_lock<std::mutex>& lock, const std::shared_ptr<Task>& last);

  /// Allocation that contains `address`; allocations.end() if none does.
  std::map<const std::byte*, Allocation>::iterator allocation_of(const void* address);
  /// Kind of the memory; none: host memory that is not pinned. Fault: the range ends after its allocation.
  std::optional<Kind> check_range(const char* function, const void* address, std::size_t bytes);
  cudaError_t allocate(void** address, std::size_t bytes, Kind kind);
  cudaError_t release(std::unique_lock<std::mutex>& lock, void* address, Kind kind, const char* function);
  /// Runs the remaining work of destroyed streams, as CUDA does at the latest when memory is freed. Fault: a
  /// copy that uses the freed memory, because the host must wait for the copy before it destroys the stream.
  void finish_left_behind(std::unique_lock<std::mutex>& lock, const void* freed, const char* function);
  /// Permits or forbids access to device memory; calls can be nested.
  void open(bool opened);

  std::mutex mutex;
  std::condition_variable changed;
  std::map<cudaStream_t, StreamState> streams;
  std::vector<std::shared_ptr<Task>> left_behind;  ///< last work of destroyed streams
  std::map<cudaEvent_t, EventState> events;
  std::map<cudaGraph_t, std::shared_ptr<const Nodes>> graphs;
  std::map<cudaGraphExec_t, std::shared_ptr<const Nodes>> executables;
  std::map<const std::byte*, Allocation> allocations;
  std::set<std::shared_ptr<Capture>> captures;
  MachineFacts facts;
  std::set<std::string> calls;
  std::vector<std::string> faults;
  struct Failure {
    cudaError_t code;
    int later;
  };
  std::map<std::string, Failure, std::less<>> failures;
  std::string failed;                ///< function that failed because of "any"
  cudaError_t broken = cudaSuccess;  ///< error of work that has run
  Order order = Order::late;
  std::uintptr_t handles = 0;
  std::uint64_t tasks = 0;
  double passed = 0.0;  ///< microseconds, without the time of the running clock
  std::optional<std::chrono::steady_clock::time_point> clock_began;
  /// Time on the clock in microseconds.
  double clock() const;
  std::vector<std::vector<std::string>> captured;  ///< names of the works of each graph
  std::size_t device_bytes = 0;
  int open_count = 0;

  auto& objects_like(cudaStream_t) { return streams; }
  auto& objects_like(cudaEvent_t) { return events; }
  auto& objects_like(cudaGraph_t) { return graphs; }
  auto& objects_like(cudaGraphExec_t) { return executables; }
  /// State of a handle. If the object does not exist (any more), reports a fault and returns null.
  template <class Handle>
  auto* find(Handle handle, const char* function) {
    auto& objects = objects_like(handle);
    const auto found = objects.find(handle);
    if (found == objects.end()) fault(std::string(function) + ": no such handle, or destroyed before");
    return found == objects.end() ? nullptr : &found->second;
  }
  template <class Handle>
  Handle new_handle() {
    return std::bit_cast<Handle>(handles += 16);
  }
  std::optional<cudaError_t> planned_failure(std::string_view function);
  /// Failure planned for this call of a function, which also counts as a call of "any".
  std::optional<cudaError_t> planned_failure_of_call(std::string_view function);
};

Machine& machine();
Allocated& allocated();
/// Error that cudaGetLastError of this thread returns.
cudaError_t& last_error();

/// Runs the body of a runtime function with the lock held, unless a failure of this call is planned. Records
/// the error for cudaGetLastError.
template <class Body>
cudaError_t call(const char* function, const Body& body) {
  Machine& all = machine();
  std::unique_lock lock(all.mutex);
  all.calls.insert(function);
  const auto planned = all.planned_failure_of_call(function);
  cudaError_t code = planned ? *planned : body(all, lock);
  if (all.broken != cudaSuccess) code = all.broken;
  if (code != cudaSuccess) last_error() = code;
  return code;
}

/// Same for a function of a stream, event, graph or executable graph; passes the object's state to the body.
template <class Handle, class Body>
cudaError_t call_on(Handle handle, const char* function, const Body& body) {
  constexpr bool is_graph = std::is_same_v<Handle, cudaGraph_t> || std::is_same_v<Handle, cudaGraphExec_t>;
  return call(function, [&](Machine& all, auto& lock) -> cudaError_t {
    auto* state = all.find(handle, function);
    if (state == nullptr) return is_graph ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle;
    return body(all, lock, *state);
  });
}

}  // namespace lockstep::fake_cuda
