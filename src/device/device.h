#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace lockstep {

/// A point in the work of a stream. Valid inside the recording that made it.
struct Event {
  int index = -1;
};

/// An ordered queue of work on a device. CPU: a pinned executor thread (stream 0: the calling thread).
class Stream {
 public:
  virtual ~Stream() = default;
  virtual Event record() = 0;
  /// Later work of this stream starts after the event's work is done.
  virtual void wait(Event event) = 0;
};

/// Work recorded once and run many times.
class Program {
 public:
  virtual ~Program() = default;
  /// Runs all of it and returns when it is done. An exception thrown by recorded work is rethrown here,
  /// after every stream has stopped.
  virtual void run() = 0;
};

/// Memory of a device, zeroed, aligned to 4,096 bytes. Owned.
class Buffer {
 public:
  Buffer() : Buffer(nullptr, 0, [](void*) {}) {}
  Buffer(void* data, std::size_t bytes, std::function<void(void*)> release);
  std::byte* data() const { return static_cast<std::byte*>(data_.get()); }
  std::size_t bytes() const { return bytes_; }
  std::span<float> floats() const { return {reinterpret_cast<float*>(data()), bytes_ / sizeof(float)}; }

 private:
  std::unique_ptr<void, std::function<void(void*)>> data_;
  std::size_t bytes_ = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  /// Throws Error(resource) when there is not enough memory.
  virtual Buffer allocate(std::size_t bytes) = 0;
  virtual std::span<Stream* const> streams() = 0;
  /// Calls `work` once; what it does on this device's streams becomes the program.
  virtual std::unique_ptr<Program> record(const std::function<void()>& work) = 0;
};

}  // namespace lockstep
