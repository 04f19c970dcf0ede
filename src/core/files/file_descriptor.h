#pragma once

#include <unistd.h>

#include <utility>

namespace lockstep {

/// A descriptor of the system, closed at the end of the scope; negative: none.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int value) : value_(value) {}
  FileDescriptor(FileDescriptor&& other) noexcept : value_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~FileDescriptor() {
    if (value_ >= 0) ::close(value_);
  }

  int get() const { return value_; }
  /// Gives it up without closing it.
  int release() { return std::exchange(value_, -1); }

 private:
  int value_ = -1;
};

}  // namespace lockstep
