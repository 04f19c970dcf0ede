#pragma once

#include <sys/mman.h>

#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda/cuda_device.h"
#include "lockstep/error.h"

namespace lockstep {

/// Memory of a device: code of the host that touches it dies.
class GuardedMemory {
 public:
  GuardedMemory() { enlist(this, true); }
  ~GuardedMemory() { enlist(this, false); }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  /// For work on the null stream, which is of no device: that of all devices. Not while other threads have
  /// any.
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
    return {data, bytes, [this, bytes](void* address) {
              parts_.erase({address, bytes});
              munmap(address, bytes);
            }};
  }
  template <class Work>
  void open_for(const Work& work) {
    protect(PROT_READ | PROT_WRITE);
    work();
    protect(PROT_NONE);
  }
  int allocations = 0;

 private:
  static std::set<GuardedMemory*>& all() {
    static auto* memories = new std::set<GuardedMemory*>;  // outlives devices that are static
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
  void protect(int rights) {
    for (const auto& [data, bytes] : parts_) mprotect(data, bytes, rights);
  }

  std::set<std::pair<void*, std::size_t>> parts_;
};

/// Records as a GPU does: work is called once, what it gives to the stream runs in each run, and code of the
/// host comes between.
class GraphStream final : public cuda::CudaStream {
 public:
  struct Action {
    bool on_host;
    std::string name;
    std::function<void()> work;
  };
  cuda::StreamHandle handle() const override {
    return reinterpret_cast<cuda::StreamHandle>(const_cast<GraphStream*>(this));
  }
  static GraphStream& of(cuda::StreamHandle handle) { return *reinterpret_cast<GraphStream*>(handle); }

  void enqueue(std::function<void()> work) override { work(); }
  void host(std::function<void()> code) override { actions.push_back({true, "host", std::move(code)}); }
  /// What a kernel would be.
  void launch(std::function<void()> work, std::string name = "launch") {
    actions.push_back({false, std::move(name), std::move(work)});
  }
  Event record() override { return {0}; }
  void wait(Event /*event*/) override {}

  std::vector<Action> actions;
};

class GraphProgram final : public Program {
 public:
  GraphProgram(GuardedMemory& memory, std::vector<GraphStream::Action> actions)
      : memory_(memory), actions_(std::move(actions)) {}
  void run() override {
    for (const GraphStream::Action& action : actions_) {
      if (action.on_host) {
        action.work();
      } else {
        memory_.open_for(action.work);
      }
    }
  }

 private:
  GuardedMemory& memory_;
  std::vector<GraphStream::Action> actions_;
};

/// A device for one rank of a test.
class GraphDevice final : public Device {
 public:
  Buffer allocate(std::size_t bytes) override { return memory.allocate(bytes); }
  std::size_t available_bytes() const override { return available; }
  Buffer allocate_host(std::size_t bytes) override {
    if (bytes == 0) return {};
    host_bytes += bytes;
    return {new std::byte[bytes](), bytes, [](void* data) { delete[] static_cast<std::byte*>(data); }};
  }
  Buffer mirror(const Buffer& buffer) override { return allocate_host(buffer.bytes()); }
  void copy(void* to, const void* from, std::size_t bytes) override {
    if (look_) look_();
    if (!recording_) GraphProgram(memory, std::exchange(stream.actions, {})).run();  // given outside of one
    if (bytes > 0) memory.open_for([&] { std::memmove(to, from, bytes); });
  }
  void copy(Stream& /*stream*/, void* to, const void* from, std::size_t bytes) override {
    if (bytes > 0) stream.launch([to, from, bytes] { std::memmove(to, from, bytes); }, "copy");
  }
  std::span<Stream* const> streams() override { return streams_; }
  std::unique_ptr<Program> record(const std::function<void()>& work) override {
    recording_ = true;
    try {
      work();
    } catch (...) {
      recording_ = false;
      stream.actions.clear();
      throw;
    }
    recording_ = false;
    if (on_record) on_record(stream.actions);
    return std::make_unique<GraphProgram>(memory, std::exchange(stream.actions, {}));
  }

  void while_waiting(std::function<void()> look) override { look_ = std::move(look); }

  /// Sees all that is recorded, by any device.
  static inline std::function<void(std::span<const GraphStream::Action>)> on_record;

  GuardedMemory memory;
  GraphStream stream;
  std::size_t host_bytes = 0;
  std::size_t available = std::size_t{1} << 32;

 private:
  std::array<Stream*, 1> streams_{&stream};
  std::function<void()> look_;
  bool recording_ = false;
};

}  // namespace lockstep
