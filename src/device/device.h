#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace lockstep {

/// A point in the work of a stream. Valid inside the recording that made it.
struct Event {
  int index = -1;
};

/// Parts of a step that are measured.
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

/// An ordered queue of work on a device. CPU: a pinned executor thread (stream 0: the calling thread). CUDA:
/// a stream of the GPU. Given work only while a recording is described.
class Stream {
 public:
  virtual ~Stream() = default;
  /// Adds a call of `work` by the host, in each run, in the order of the stream: all that the stream was
  /// given before is done when it is called. CPU: by the stream's thread; this is how kernels of the CPU are
  /// run. CUDA: the GPU has nothing to do meanwhile. `phase`: what its time counts as. Throws Error(internal)
  /// outside of a recording.
  virtual void call(std::function<void()> work, Phase phase) = 0;
  /// A point between what the stream was given so far and what it will be.
  virtual Event record() = 0;
  /// Later work of this stream starts after the event's work is done.
  virtual void wait(Event event) = 0;
};

/// Work recorded once and run many times.
class Program {
 public:
  virtual ~Program() = default;
  /// Runs all of it. CPU: returns when it is done; an exception thrown by recorded work is rethrown here,
  /// after every stream has stopped. CUDA: may return earlier; Device::copy waits.
  virtual void run() = 0;
  /// CPU: seconds of the calls of the last run, by phase, of all streams together. CUDA: nothing, the host
  /// does not see how long the parts of a program take.
  virtual std::optional<PhaseSeconds> phases() const { return std::nullopt; }
};

/// Memory of a device, zeroed, aligned to 4,096 bytes. Owned.
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

class Device {
 public:
  virtual ~Device() = default;
  /// Throws Error(resource) when there is not enough memory.
  virtual Buffer allocate(std::size_t bytes) = 0;
  /// What is left of its memory for this rank; CPU: this rank's share of the host's. Not a promise.
  virtual std::size_t available_bytes() const = 0;
  /// Memory of the host that this device copies to and from fast.
  virtual Buffer allocate_host(std::size_t bytes) = 0;
  /// What the host looks at instead of `buffer`: the same memory where it can, else as much of its own.
  virtual Buffer mirror(const Buffer& buffer) = 0;
  /// Copies between memory of this device and of the host, at either end; done on return, after all programs.
  /// While recording: at once, no part of the recording.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  /// The same as part of a recording, in the stream's order. Memory of the host: of allocate_host or mirror.
  virtual void copy(Stream& stream, void* to, const void* from, std::size_t bytes) = 0;
  virtual std::span<Stream* const> streams() = 0;
  /// `look` is called now and then while this device waits for what its streams were given, which may wait
  /// for other ranks; what it throws ends the wait. Empty: no more. Where work is done on return, it is not
  /// called.
  virtual void while_waiting(std::function<void()> /*look*/) {}
  /// Makes a program of what `describe` gives to this device's streams. `describe` is called once, or (CUDA
  /// without graphs) in each run: it reads nothing that changes between runs, and what it refers to outlives
  /// the program.
  virtual std::unique_ptr<Program> record(std::function<void()> describe) = 0;
};

/// Throws Error(resource) when `bytes` are more than was `available` before they were allocated: the host's
/// memory is only missing when it is written to. `purpose`: what for, in the plural.
void check_memory(std::size_t available, std::size_t bytes, const char* purpose);

/// A buffer of a device as the host sees it. Owns no part of it; the buffer outlives the view.
class HostView {
 public:
  HostView(Device& device, const Buffer& buffer);
  std::span<float> floats() const { return mirror_.floats(); }
  /// Brings the device's values to the host, and the host's to the device.
  void fetch() const;
  void store() const;

 private:
  Device* device_;
  std::byte* data_;
  Buffer mirror_;
};

}  // namespace lockstep
