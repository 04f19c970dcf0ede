#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda/cuda_device.h"
#include "device/kernel_times.h"
#include "lockstep/error.h"

namespace lockstep {

/// Memory of an emulated device, which host code cannot access.
class GuardedMemory {
 public:
  GuardedMemory() { enlist(this, true); }
  ~GuardedMemory() { enlist(this, false); }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  /// Opens the memory of all devices for work on the null stream, which belongs to no device. Not
  /// thread-safe.
  template <class Work>
  static void open_all_for(const Work& work) {
    for (GuardedMemory* memory : all()) memory->protect(PROT_READ | PROT_WRITE);
    work();
    for (GuardedMemory* memory : all()) memory->protect(PROT_NONE);
  }
  Buffer allocate(std::size_t bytes) {
    if (bytes == 0) return {};
    void* data = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) throw Error(Category::resource, "not enough memory");
    ++allocations;
    parts_.insert({data, bytes});
    note_accessible(data, bytes);
    return {data, bytes, [this, bytes](void* address) {
              parts_.erase({address, bytes});
              note_accessible(address, 0);
              munmap(address, bytes);
            }};
  }
  /// Memory of the host that kernels can access, too.
  static Buffer allocate_host(std::size_t bytes) {
    auto* data = new std::byte[bytes]();
    note_accessible(data, bytes);
    return {data, bytes, [](void* address) {
              note_accessible(address, 0);
              delete[] static_cast<std::byte*>(address);
            }};
  }
  /// Whether kernels can access the address: memory of any device, or of allocate_host. Its end counts, too.
  static bool is_accessible(const void* address) {
    const std::lock_guard lock(mutex());
    auto next = accessible().upper_bound(address);
    if (next == accessible().begin()) return false;
    --next;
    return static_cast<const std::byte*>(address) <=
           static_cast<const std::byte*>(next->first) + next->second;
  }
  /// Opens the memory while `work` runs.
  template <class Work>
  void open_for(const Work& work) {
    protect(PROT_READ | PROT_WRITE);
    work();
    protect(PROT_NONE);
  }
  int allocations = 0;

 private:
  static std::set<GuardedMemory*>& all() {
    static auto* memories = new std::set<GuardedMemory*>;  // outlives static devices
    return *memories;
  }
  static std::mutex& mutex() {
    static std::mutex the_mutex;
    return the_mutex;
  }
  static void enlist(GuardedMemory* memory, bool lives) {
    const std::lock_guard lock(mutex());
    if (lives) {
      all().insert(memory);
    } else {
      all().erase(memory);
    }
  }
  /// `bytes`: 0: no longer.
  static void note_accessible(const void* data, std::size_t bytes) {
    const std::lock_guard lock(mutex());
    if (bytes > 0) {
      accessible()[data] = bytes;
    } else {
      accessible().erase(data);
    }
  }
  static std::map<const void*, std::size_t>& accessible() {
    static auto* ranges = new std::map<const void*, std::size_t>;  // outlives static devices
    return *ranges;
  }
  void protect(int rights) {
    for (const auto& [data, bytes] : parts_) mprotect(data, bytes, rights);
  }

  std::set<std::pair<void*, std::size_t>> parts_;
};

/// Work enqueued on a stream of an emulated GPU.
struct GraphAction {
  std::string name;
  bool on_host = false;
  std::function<void()> work = {};
  int stream = 0;
  int records = -1;    ///< event; -1: none
  int waits_for = -1;  ///< event; -1: none
};

/// Records as a GPU does: the description is called once, and work that it enqueues, including calls on the
/// host, runs in each run. The streams of a device share a list.
class GraphStream final : public cuda::CudaStream {
 public:
  explicit GraphStream(std::vector<GraphAction>& list, int number = 0) : actions(list), number_(number) {}

  cuda::StreamHandle handle() const override {
    return reinterpret_cast<cuda::StreamHandle>(const_cast<GraphStream*>(this));
  }
  static GraphStream& of(cuda::StreamHandle handle) { return *reinterpret_cast<GraphStream*>(handle); }

  void call(std::function<void()> work, Phase /*phase*/) override {
    if (number_ != 0) throw Error(Category::internal, "a call of the host on another stream than the first");
    actions.push_back({.name = "host", .on_host = true, .work = std::move(work)});
  }
  /// Enqueues code of the host that other streams need not wait for.
  void call_at_submission(std::function<void()> work) {
    actions.push_back({.name = "host", .on_host = true, .work = std::move(work), .stream = number_});
  }
  /// Enqueues the equivalent of a kernel.
  void launch(std::function<void()> work, std::string name = "launch") {
    actions.push_back({.name = std::move(name), .work = std::move(work), .stream = number_});
  }
  Event record() override {
    const int event = static_cast<int>(actions.size());
    actions.push_back({.name = "event", .stream = number_, .records = event});
    return {event};
  }
  void wait(Event event) override {
    actions.push_back({.name = "wait", .stream = number_, .waits_for = event.index});
  }

  std::vector<GraphAction>& actions;

 private:
  int number_;
};

/// Order in which streams run work that no event orders.
enum class StreamOrder {
  first_stream,   ///< other streams run only what the first one waits for
  other_streams,  ///< other streams run their work as soon as events allow
};

/// Streams of an emulated GPU: for computation, communication and uploads.
constexpr std::size_t stream_count = 3;

class GraphProgram final : public Program {
 public:
  GraphProgram(GuardedMemory& memory, std::vector<GraphAction> actions,
               StreamOrder stream_order = StreamOrder::first_stream)
      : memory_(memory), actions_(std::move(actions)), stream_order_(stream_order) {
    for (std::size_t i = 0; i < actions_.size(); ++i) {
      order_[static_cast<std::size_t>(actions_[i].stream)].push_back(i);
    }
    if (!order_[1].empty() && !waited_for(order_[1].back())) {
      throw Error(Category::internal, "a recording ends while another stream works");
    }
  }

  void run() override {
    next_ = {};
    events_.clear();
    std::array<std::size_t, stream_count> streams{0, 1, 2};
    if (stream_order_ == StreamOrder::other_streams) std::ranges::reverse(streams);
    const auto step_of_any = [this](std::size_t stream) { return step(stream); };
    while (std::ranges::any_of(streams, step_of_any)) {
    }
    if (std::ranges::any_of(streams, [this](std::size_t s) { return next_[s] < order_[s].size(); })) {
      throw Error(Category::internal, "a stream waits for an event that never comes");
    }
  }

 private:
  /// Whether the first stream waits for the event that action `last` records.
  bool waited_for(std::size_t last) const {
    return actions_[last].records >= 0 && std::ranges::any_of(order_[0], [&](std::size_t i) {
             return actions_[i].waits_for == actions_[last].records;
           });
  }
  /// Runs the next action of a stream. Returns false if there is none or it waits for an event.
  bool step(std::size_t stream) {
    if (next_[stream] == order_[stream].size()) return false;
    const std::size_t i = order_[stream][next_[stream]];
    const GraphAction& action = actions_[i];
    if (action.waits_for >= 0 && !events_.contains(action.waits_for)) return false;
    ++next_[stream];
    if (action.records >= 0) events_.insert(action.records);
    if (action.on_host) {
      if (stream == 0) expect_joined(i);
      action.work();
    } else if (action.work) {
      memory_.open_for(action.work);
    }
    return true;
  }

  /// Checks that the second stream does not work before action `position`, where CUDA must end a capture.
  void expect_joined(std::size_t position) const {
    if (next_[1] < order_[1].size() && order_[1][next_[1]] < position) {
      throw Error(Category::internal, "code of the host runs while another stream works");
    }
  }

  GuardedMemory& memory_;
  std::vector<GraphAction> actions_;
  StreamOrder stream_order_;
  std::array<std::vector<std::size_t>, stream_count> order_;
  std::array<std::size_t, stream_count> next_{};
  std::set<int> events_;
};

/// An emulated GPU with graphs, for one rank of a test.
class GraphDevice final : public cuda::CudaDevice {
 public:
  Buffer allocate(std::size_t bytes) override {
    if (allocations_until_failure > 0 && --allocations_until_failure == 0) {
      throw Error(Category::resource, "GPU 0: not enough memory (emulated)");
    }
    return memory.allocate(bytes);
  }
  std::size_t available_bytes() const override { return available; }
  Buffer allocate_host(std::size_t bytes) override {
    if (bytes == 0) return {};
    host_bytes += bytes;
    return GuardedMemory::allocate_host(bytes);
  }
  Buffer mirror(const Buffer& buffer) override { return allocate_host(buffer.bytes()); }
  void copy(void* to, const void* from, std::size_t bytes) override {
    if (look_) look_();
    if (copies_until_failure > 0 && --copies_until_failure == 0) {
      throw Error(Category::resource, "GPU 0: a kernel failed (emulated)");
    }
    if (!recording_)
      GraphProgram(memory, std::exchange(actions_, {}), stream_order).run();  // given outside of one
    if (bytes > 0) memory.open_for([&] { std::memmove(to, from, bytes); });
  }
  void copy(Stream& /*stream*/, void* to, const void* from, std::size_t bytes) override {
    if (bytes == 0) return;
    timed_launch(stream.handle(), "copy",
                 [&] { stream.launch([to, from, bytes] { std::memmove(to, from, bytes); }, "copy"); });
  }
  std::unique_ptr<Upload> make_upload(std::size_t bytes) override {
    return std::make_unique<UploadByStream>(*this, bytes);
  }
  std::span<Stream* const> streams() override { return streams_; }
  cuda::CudaStream& communication_stream() override { return communication; }
  std::unique_ptr<Program> record(std::function<void()> describe) override {
    recording_ = true;
    ++recordings_;
    try {
      describe();
    } catch (...) {
      recording_ = false;
      actions_.clear();
      throw;
    }
    recording_ = false;
    if (on_record) on_record(actions_);
    return std::make_unique<GraphProgram>(memory, std::exchange(actions_, {}), stream_order);
  }

  void while_waiting(std::function<void()> look) override { look_ = std::move(look); }

 private:
  /// Copies on the stream for uploads, when the last release of the recording allows it.
  class UploadByStream final : public Upload {
   public:
    UploadByStream(GraphDevice& device, std::size_t bytes) : Upload(device.allocate(bytes)), gpu_(device) {}

    void fill(Stream& user, Source source) override {
      if (released_in_ == gpu_.recordings_) gpu_.uploads_.wait(released_);
      gpu_.uploads_.call_at_submission([this, source = std::move(source)] {
        const auto start = std::chrono::steady_clock::now();
        source_ = source();
        waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      });
      gpu_.uploads_.launch([this] { std::ranges::copy(source_, data()); }, "upload");
      user.wait(gpu_.uploads_.record());
    }
    void release(Stream& user) override {
      released_ = user.record();
      released_in_ = gpu_.recordings_;
    }
    void wait() override {}
    double waited() const override { return waited_; }

   private:
    GraphDevice& gpu_;
    std::span<const std::byte> source_;
    Event released_;
    std::uint64_t released_in_ = 0;  ///< number of the recording; 0: none
    double waited_ = 0.0;
  };

  std::vector<GraphAction> actions_;
  GraphStream uploads_{actions_, 2};
  std::uint64_t recordings_ = 0;

 public:
  /// Called with every recording of any device.
  static inline std::function<void(std::span<const GraphAction>)> on_record;

  GuardedMemory memory;
  GraphStream stream{actions_};
  GraphStream communication{actions_, 1};
  StreamOrder stream_order = StreamOrder::first_stream;
  std::size_t host_bytes = 0;
  std::size_t available = std::size_t{1} << 32;
  int allocations_until_failure = 0;  ///< the last of them fails; 0: none does
  int copies_until_failure = 0;       ///< likewise; an immediate copy waits for all kernels

 private:
  std::array<Stream*, 1> streams_{&stream};
  std::function<void()> look_;
  bool recording_ = false;
};

}  // namespace lockstep
