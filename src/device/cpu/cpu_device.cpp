#include "device/cpu/cpu_device.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <limits>
#include <mutex>
#include <system_error>
#include <thread>

#include "core/awaited_counter.h"
#include "core/clock.h"
#include "device/cpu/pinning.h"
#include "device/host_probe.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

/// Memory limits of this process (ulimit) as text for a message; empty if there are none.
std::string memory_limits() {
  std::string text;
  const auto add = [&](auto resource, const char* flag) {
    rlimit limit{};
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
    text += fmt::format("; this process may have {} MB in all (ulimit {} {})", limit.rlim_cur >> 20, flag,
                        limit.rlim_cur >> 10);
  };
  add(RLIMIT_DATA, "-d");
  add(RLIMIT_AS, "-v");
  return text;
}

/// One recorded action of a stream.
struct Action {
  enum class Kind { call, record, wait } kind;
  std::function<void()> work = {};
  Phase phase = {};
  int event = -1;
};

struct Recording {
  std::vector<std::vector<Action>> streams;
  int events = 0;
};

class ExecutorStream : public Stream {
 public:
  /// `recording`: the device's recording in progress; null: none.
  ExecutorStream(std::size_t index, Recording* const& recording) : index_(index), recording_(recording) {}

  void call(std::function<void()> work, Phase phase) override {
    actions().push_back({.kind = Action::Kind::call, .work = std::move(work), .phase = phase});
  }
  Event record() override {
    actions().push_back({.kind = Action::Kind::record, .event = recording_->events});
    return {recording_->events++};
  }
  void wait(Event event) override { actions().push_back({.kind = Action::Kind::wait, .event = event.index}); }

 private:
  std::vector<Action>& actions() {
    if (recording_ == nullptr) {
      throw Error(Category::internal, "work was given to a stream outside of a recording");
    }
    return recording_->streams[index_];
  }

  std::size_t index_;
  Recording* const& recording_;
};

/// The threads that serve streams 1, 2, ...; the thread that calls run() serves stream 0.
class Executors {
 public:
  Executors(int threads, const std::vector<int>& processors) {
    try {
      for (int i = 1; i < threads; ++i) {
        const int processor = processors.empty() ? -1 : processors[static_cast<std::size_t>(i)];
        threads_.emplace_back([this, i, processor] { serve(i, processor); });
      }
    } catch (const std::system_error& error) {
      stop();
      throw Error(Category::resource, fmt::format("cannot start {} threads: {}", threads, error.what()));
    }
  }
  ~Executors() { stop(); }
  Executors(const Executors&) = delete;
  Executors& operator=(const Executors&) = delete;

  /// Calls task(stream) on the thread of every stream; returns when all calls have returned.
  void run(const std::function<void(std::size_t)>& task) {
    const ThreadState caller;  // its state may have changed since the device was made
    flush_denormals_to_zero();
    task_ = &task;
    started_.advance();
    task(0);
    returns_ += static_cast<std::uint32_t>(threads_.size());
    returned_.await(returns_);
  }

 private:
  void stop() {
    stop_ = true;
    started_.advance();
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }

  void serve(int index, int processor) {
    if (processor >= 0) {
      pin_this_thread(processor);
    }
    flush_denormals_to_zero();
    for (std::uint32_t seen = 1;; ++seen) {
      started_.await(seen);
      if (stop_) {
        return;
      }
      (*task_)(static_cast<std::size_t>(index));
      returned_.advance();
    }
  }

  AwaitedCounter started_{};   ///< tasks started so far
  AwaitedCounter returned_{};  ///< calls that threads have finished so far, over all tasks
  std::uint32_t returns_ = 0;  ///< value of returned_ when all threads have finished the current task
  std::atomic<bool> stop_{false};
  const std::function<void(std::size_t)>* task_ = nullptr;
  std::vector<std::thread> threads_;
};

/// Current work of a stream. Written only by the stream's thread, read by any thread.
struct alignas(64) StreamActivity {
  std::atomic<std::uint64_t> calls{0};
  std::atomic<Phase> phase{Phase::load};

  void begin(Phase begun) {
    calls.store(calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    phase.store(begun, std::memory_order_relaxed);
  }
};

class CpuProgram : public Program {
 public:
  CpuProgram(Executors& executors, std::vector<StreamActivity>& activities, Recording recording)
      : executors_(executors),
        activities_(activities),
        recording_(std::move(recording)),
        done_(static_cast<std::size_t>(recording_.events)),
        seconds_(recording_.streams.size()) {}

  void run() override {
    ++round_;
    failed_ = false;
    failure_ = nullptr;
    executors_.run([this](std::size_t stream) { run_stream(stream); });
    if (failure_) {
      std::rethrow_exception(failure_);
    }
  }

  std::optional<PhaseSeconds> phases(std::size_t stream) const override { return seconds_[stream].value; }

 private:
  /// Written only by the stream's thread.
  struct alignas(64) StreamSeconds {
    PhaseSeconds value;
  };

  void run_stream(std::size_t stream) {
    PhaseSeconds seconds;
    for (const Action& action : recording_.streams[stream]) {
      switch (action.kind) {
        case Action::Kind::call: {
          const double start = steady_seconds();
          activities_[stream].begin(action.phase);
          guarded(action.work);
          seconds[action.phase] += steady_seconds() - start;
          break;
        }
        case Action::Kind::record:
          done_[static_cast<std::size_t>(action.event)].advance();
          break;
        case Action::Kind::wait:
          done_[static_cast<std::size_t>(action.event)].await(round_);
          break;
      }
    }
    seconds_[stream].value = seconds;
  }

  /// Calls `work`, or skips it once any stream has failed. Events still happen after a failure, so every
  /// stream ends.
  void guarded(const std::function<void()>& work) {
    if (failed_.load(std::memory_order_acquire)) {
      return;
    }
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failed_.exchange(true)) {
        failure_ = std::current_exception();
      }
    }
  }

  Executors& executors_;
  std::vector<StreamActivity>& activities_;
  Recording recording_;
  std::vector<AwaitedCounter> done_;  ///< by event: number of runs in which it has happened
  std::vector<StreamSeconds> seconds_;
  std::uint32_t round_ = 0;
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr failure_;
};

class CpuDevice : public Device {
 public:
  explicit CpuDevice(const CpuOptions& options)
      : processors_(options.pin
                        ? processors_for_executors(options.threads, options.local_rank, options.local_size)
                        : std::vector<int>()),
        executors_(options.threads, processors_),
        activities_(static_cast<std::size_t>(options.threads)),
        local_size_(static_cast<std::size_t>(std::max(1, options.local_size))) {
    if (!processors_.empty()) {
      pin_this_thread(processors_.front());
    }
    flush_denormals_to_zero();
    for (int i = 0; i < options.threads; ++i) {
      owned_.push_back(std::make_unique<ExecutorStream>(static_cast<std::size_t>(i), recording_));
      streams_.push_back(owned_.back().get());
    }
  }

  Buffer allocate(std::size_t bytes) override {
    if (bytes == 0) {
      return {};
    }
    void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) {
      throw Error(Category::resource, fmt::format("not enough memory: {} MB are needed{}",
                                                  (bytes + (1U << 20) - 1) >> 20, memory_limits()));
    }
    madvise(data, bytes, MADV_HUGEPAGE);
    return {data, bytes, [bytes](void* address) { munmap(address, bytes); }};
  }

  std::size_t available_bytes() const override {
    return available_memory().value_or(std::numeric_limits<std::uint64_t>::max()) / local_size_;
  }

  Buffer allocate_host(std::size_t bytes) override { return allocate(bytes); }

  Buffer mirror(const Buffer& buffer) override {
    return {buffer.data(), buffer.bytes(), [](void*) {}};
  }

  void copy(void* to, const void* from, std::size_t bytes) override {
    if (bytes > 0) std::memmove(to, from, bytes);
  }
  void copy(Stream& stream, void* to, const void* from, std::size_t bytes) override {
    stream.call([this, to, from, bytes] { copy(to, from, bytes); }, Phase::reduce);
  }

  std::span<Stream* const> streams() override { return streams_; }

  DeviceActivity activity() const override {
    DeviceActivity all{.calls = 0, .phase = activities_.front().phase.load(std::memory_order_relaxed)};
    for (const StreamActivity& stream : activities_)
      all.calls += stream.calls.load(std::memory_order_relaxed);
    return all;
  }

  std::unique_ptr<Program> record(std::function<void()> describe) override {
    Recording recording;
    recording.streams.resize(owned_.size());
    recording_ = &recording;
    try {
      describe();
    } catch (...) {
      recording_ = nullptr;
      throw;
    }
    recording_ = nullptr;
    return std::make_unique<CpuProgram>(executors_, activities_, std::move(recording));
  }

 private:
  ThreadState caller_;  // first member, so that the thread's state is restored last
  std::vector<int> processors_;
  Executors executors_;
  std::vector<StreamActivity> activities_;  ///< by stream
  std::size_t local_size_;                  ///< ranks that share the host's memory
  Recording* recording_ = nullptr;
  std::vector<std::unique_ptr<ExecutorStream>> owned_;
  std::vector<Stream*> streams_;
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(const CpuOptions& options) {
  return std::make_unique<CpuDevice>(options);
}

}  // namespace lockstep
