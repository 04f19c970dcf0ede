#pragma once

#include <string>

namespace lockstep::cuda {

/// A shared library that may be missing, opened by name. It is never unloaded: CUDA's libraries keep threads
/// and exit handlers.
class SharedLibrary {
 public:
  explicit SharedLibrary(const char* name);
  ~SharedLibrary();
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;

  explicit operator bool() const { return handle_ != nullptr; }
  const std::string& failure() const { return failure_; }

  /// Function `name` of the library; null if the function or the library is missing.
  template <class Function>
  Function* function(const char* name) const {
    return handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(find(name));
  }

 private:
  void* find(const char* name) const;

  void* handle_;
  std::string failure_;
};

}  // namespace lockstep::cuda
