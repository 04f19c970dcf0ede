#include "fake_cuda/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "fake_cuda/kernel_arguments.h"

namespace lockstep::fake_cuda {

Machine& machine() {
  static Machine the_machine;
  return the_machine;
}

cudaError_t& last_error() {
  thread_local cudaError_t error = cudaSuccess;
  return error;
}

Machine::~Machine() {
  const std::string left = live_objects();
  for (const std::string& text : faults) fmt::print(stderr, "fake CUDA: {}\n", text);
  if (!left.empty()) fmt::print(stderr, "fake CUDA: not destroyed at the end: {}\n", left);
  if (!faults.empty() || !left.empty()) std::_Exit(1);
}

std::optional<cudaError_t> Machine::planned_failure(std::string_view function) {
  const auto found = failures.find(function);
  if (found == failures.end() || found->second.later-- > 0) return std::nullopt;
  const cudaError_t code = found->second.code;
  failures.erase(found);
  return code;
}

std::optional<cudaError_t> Machine::planned_failure_of_call(std::string_view function) {
  const auto planned = planned_failure(function);
  if (planned || function.starts_with("cudaFree") || function.ends_with("Destroy")) return planned;
  const auto of_any = planned_failure("any");
  if (of_any) failed = function;
  return of_any;
}

cudaError_t Machine::refuse_in_capture(StreamState& stream) {
  stream.capture->invalid = true;
  return cudaErrorStreamCaptureUnsupported;
}

cudaError_t Machine::refuse_in_strict_captures() {
  cudaError_t code = cudaSuccess;
  for (const auto& capture : captures) {
    if (capture->mode == cudaStreamCaptureModeRelaxed) continue;
    capture->invalid = true;
    code = cudaErrorStreamCaptureUnsupported;
  }
  return code;
}

cudaError_t Machine::submit(std::unique_lock<std::mutex>& lock, StreamState& stream, Work work) {
  if (stream.capture) {
    if (stream.capture->invalid) return cudaErrorStreamCaptureInvalidated;
    Nodes& nodes = stream.capture->nodes;
    nodes.push_back({std::move(work), std::move(stream.ends), stream.priority});
    stream.ends = {nodes.size() - 1};
    return cudaSuccess;
  }
  std::vector<Work> works;
  works.push_back(std::move(work));
  enqueue(lock, stream, std::move(works));
  return cudaSuccess;
}

void Machine::enqueue(std::unique_lock<std::mutex>& lock, StreamState& stream, std::vector<Work> works,
                      std::shared_ptr<Task> after) {
  auto task = std::make_shared<Task>();
  task->number = ++tasks;
  task->works = std::move(works);
  for (const auto& before : {stream.last, std::move(after)}) {
    if (before && before->state != Task::State::done) task->after.push_back(before);
  }
  task->held = std::ranges::any_of(task->works, &Work::is_host_function) ||
               std::ranges::any_of(task->after, &Task::held);
  for (const Work& work : task->works) {
    if (work.source.empty()) continue;
    const std::uint64_t writes = allocation_of(work.source.data())->second.writes;
    task->sources.push_back({work.source, {work.source.begin(), work.source.end()}, writes});
  }
  stream.last = task;
  stream.busy_answers = 0;
  if (order == Order::early && !task->held) run(lock, task);
}

std::vector<std::shared_ptr<Task>> Machine::unfinished(const std::shared_ptr<Task>& last) {
  std::map<std::uint64_t, std::shared_ptr<Task>> needed;  // by number: a task follows the tasks it depends on
  std::vector<std::shared_ptr<Task>> found{last};
  while (!found.empty()) {
    const std::shared_ptr<Task> task = std::move(found.back());
    found.pop_back();
    if (task == nullptr || task->state == Task::State::done || !needed.emplace(task->number, task).second)
      continue;
    found.insert(found.end(), task->after.begin(), task->after.end());
  }
  std::vector<std::shared_ptr<Task>> ordered;
  for (auto& [number, task] : needed) ordered.push_back(std::move(task));
  return ordered;
}

void Machine::check_memory(const Task& task) {
  for (const Work& work : task.works) {
    for (const void* address : work.memory) {
      if (allocation_of(address) == allocations.end())
        fault(readable(work.name.c_str()) + ": its memory was freed before it ran");
    }
  }
  for (const Source& source : task.sources) {
    const auto memory = allocation_of(source.memory.data());
    if (memory == allocations.end() || memory->second.writes != source.writes) continue;
    if (!std::ranges::equal(source.memory, source.bytes))
      fault("copy: the host has written to its source before it was done");
  }
  for (const Work& work : task.works) {
    for (const void* address : work.memory) {
      const auto memory = allocation_of(address);
      if (memory != allocations.end() && memory != allocation_of(work.source.data())) ++memory->second.writes;
    }
  }
}

cudaError_t Machine::run(std::unique_lock<std::mutex>& lock, const std::shared_ptr<Task>& last) {
  for (const std::shared_ptr<Task>& task : unfinished(last)) {
    changed.wait(lock, [&] { return task->state != Task::State::running; });
    if (task->state == Task::State::done) continue;
    check_memory(*task);
    task->state = Task::State::running;
    open(true);
    lock.unlock();
    std::exception_ptr thrown;
    try {
      for (const Work& work : task->works) work.run();
    } catch (...) {
      thrown = std::current_exception();
    }
    lock.lock();
    open(false);
    task->state = Task::State::done;
    task->end = clock();
    task->works.clear();
    task->sources.clear();
    task->after.clear();
    changed.notify_all();
    if (thrown) std::rethrow_exception(thrown);
    if (const auto planned = planned_failure("kernel")) broken = *planned;
  }
  return broken;
}

void set_order(Order order) {
  const std::lock_guard lock(machine().mutex);
  machine().order = order;
}

void pass(double microseconds) {
  const std::lock_guard lock(machine().mutex);
  machine().passed += microseconds;
}

void run_clock(bool runs) {
  const std::lock_guard lock(machine().mutex);
  Machine& all = machine();
  all.passed = all.clock();
  all.clock_began.reset();
  if (runs) all.clock_began = std::chrono::steady_clock::now();
}

double Machine::clock() const {
  if (!clock_began) return passed;
  return passed +
         std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - *clock_began).count();
}

void fail(const std::string& function, cudaError_t code, int later) {
  const std::lock_guard lock(machine().mutex);
  machine().failures[function] = {code, later};
  machine().failed.clear();
}

std::string failed_function() {
  const std::lock_guard lock(machine().mutex);
  return machine().failed;
}

void recover() {
  const std::lock_guard lock(machine().mutex);
  machine().broken = cudaSuccess;
  machine().failures.clear();
  last_error() = cudaSuccess;
}

void set_facts(const MachineFacts& facts) {
  const std::lock_guard lock(machine().mutex);
  machine().facts = facts;
}

std::set<std::string> take_calls() {
  const std::lock_guard lock(machine().mutex);
  return std::exchange(machine().calls, {});
}

std::vector<std::vector<std::string>> take_graphs() {
  const std::lock_guard lock(machine().mutex);
  return std::exchange(machine().captured, {});
}

Allocated& allocated() {
  thread_local Allocated of_thread;
  return of_thread;
}
Allocated allocated_by_thread() { return allocated(); }

std::vector<std::string> take_faults() {
  const std::lock_guard lock(machine().mutex);
  return std::exchange(machine().faults, {});
}

std::string live_objects() {
  Machine& all = machine();
  const std::lock_guard lock(all.mutex);
  std::string text;
  const auto add = [&](std::size_t count, const char* name) {
    if (count == 0) return;
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", count, name, count == 1 ? "" : "s");
  };
  const auto of_kind = [&](Kind kind) {
    return static_cast<std::size_t>(
        std::ranges::count_if(all.allocations, [&](const auto& each) { return each.second.kind == kind; }));
  };
  add(all.streams.size(), "stream");
  add(all.events.size(), "event");
  add(all.graphs.size(), "graph");
  add(all.executables.size(), "executable graph");
  add(of_kind(Kind::device), "allocation");
  add(of_kind(Kind::host), "pinned allocation");
  return text;
}

}  // namespace lockstep::fake_cuda
