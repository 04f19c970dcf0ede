#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace lockstep {

/// A point in the work of a stream. Valid within the recording that made it.
struct Event {
  int index = -1;
};

/// Part of a step whose time is measured.
enum class Phase { load, forward, backward, fold, reduce, update };
constexpr std::size_t phase_count = 6;

/// Seconds by phase.
class PhaseSeconds {
 public:
  double& operator[](Phase phase) { return seconds_[static_cast<std::size_t>(phase)]; }
  double operator[](Phase phase) const { return seconds_[static_cast<std::size_t>(phase)]; }
  PhaseSeconds& operator+=(const PhaseSeconds& other) {
    for (std::size_t i = 0; i < phase_count; ++i) seconds_[i] += other.seconds_[i];
    return *this;
  }

 private:
  std::array<double, phase_count> seconds_{};
};

/// Ordered queue of work on a device. CPU: an executor's thread (stream 0: the calling thread). CUDA: a
/// stream of the GPU. Work may be added only inside the callback of Device::record.
class Stream {
 public:
  virtual ~Stream() = default;
  /// Adds a host call of `work`, made in each run after all earlier work of the stream is done. CPU: called
  /// on the stream's thread; CPU kernels run this way. CUDA: on the first stream only, which first waits for
  /// all streams; the GPU is idle during the call. `phase`: phase to which the call's time is added. Throws
  /// Error(internal) outside a recording.
  virtual void call(std::function<void()> work, Phase phase) = 0;
  /// Returns an event that marks the end of all work added so far.
  virtual Event record() = 0;
  /// Makes later work of this stream start after the work before `event` is done.
  virtual void wait(Event event) = 0;
};

/// Recorded work that can be run many times.
class Program {
 public:
  virtual ~Program() = default;
  /// Runs the work. CPU: returns when it is done, and rethrows an exception of the work after all streams
  /// have stopped. CUDA: may return earlier; Device::copy waits.
  virtual void run() = 0;
  /// Seconds that a stream's calls took in the last run, by phase. None on CUDA.
  virtual std::optional<PhaseSeconds> phases(std::size_t /*stream*/) const { return std::nullopt; }
};

/// Progress of the streams of a device.
struct DeviceActivity {
  std::uint64_t calls = 0;    ///< calls that all streams have begun so far
  Phase phase = Phase::load;  ///< phase of stream 0's last call
};

/// Owner of device memory, which is zeroed when allocated and aligned to at least 256 bytes (CPU: 4,096).
class Buffer {
 public:
  Buffer() : Buffer(nullptr, 0, [](void*) {}) {}
  Buffer(void* data, std::size_t bytes, std::function<void(void*)> release);
  std::byte* data() const { return static_cast<std::byte*>(data_.get()); }
  std::size_t bytes() const { return bytes_; }
  std::span<float> floats() const { return {as<float>(), bytes_ / sizeof(float)}; }
  template <class Value>
  Value* as() const {
    return reinterpret_cast<Value*>(data());
  }

 private:
  std::unique_ptr<void, std::function<void(void*)>> data_;
  std::size_t bytes_ = 0;
};

/// A processor with its memory. Methods must be called on the thread that made the device.
class Device {
 public:
  virtual ~Device() = default;
  /// Throws Error(resource) when memory is short.
  virtual Buffer allocate(std::size_t bytes) = 0;
  /// Estimate of the memory that this rank can still allocate; CPU: its share of the host's available memory.
  virtual std::size_t available_bytes() const = 0;
  /// Allocates memory of the host with fast copies to and from this device.
  virtual Buffer allocate_host(std::size_t bytes) = 0;
  /// Memory in which the host can access the contents of `buffer`: the same memory if possible, else memory
  /// for a copy.
  virtual Buffer mirror(const Buffer& buffer) = 0;
  /// Copies between memory of this device and the host, in any direction. First waits for all programs, even
  /// if there is nothing to copy; the copy is done on return. While recording, copies immediately and records
  /// nothing.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  /// Records a copy in the stream's order. Memory of the host must come from allocate_host or mirror.
  virtual void copy(Stream& stream, void* to, const void* from, std::size_t bytes) = 0;
  virtual std::span<Stream* const> streams() = 0;
  /// Current work of the streams, if the host knows it. Safe from any thread.
  virtual DeviceActivity activity() const { return {}; }
  /// Sets a function that is called from time to time while the host waits for this device, whose work may
  /// depend on other ranks; an exception ends the wait. Empty: none. Devices whose run() returns only when
  /// the work is done do not call it.
  virtual void while_waiting(std::function<void()> /*look*/) {}
  /// Makes a program of the work that `describe` adds to this device's streams. `describe` is called once, or
  /// (CUDA without graphs) in each run: it must not read anything that changes between runs, and whatever it
  /// refers to must outlive the program.
  virtual std::unique_ptr<Program> record(std::function<void()> describe) = 0;
};

/// Throws Error(resource) if `bytes` exceeds `available`, the memory available before the allocation. Without
/// this check, the allocation would succeed and Linux would kill the process when it writes to the memory.
/// `purpose`: what the memory is for, in the plural.
void check_memory(std::size_t available, std::size_t bytes, const char* purpose);

/// Host's view of a device's buffer, which must outlive the view.
class HostView {
 public:
  HostView(Device& device, const Buffer& buffer);
  std::span<float> floats() const { return mirror_.floats(); }
  void fetch() const;  ///< copies the device's values to the host
  void store() const;  ///< copies the host's values to the device

 private:
  Device* device_;
  std::byte* data_;
  Buffer mirror_;
};

}  // namespace lockstep
