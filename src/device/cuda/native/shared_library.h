#pragma once

#include <dlfcn.h>

#include <string>

namespace lockstep::cuda {

/// A shared library that may be missing, opened by name. It is never unloaded: CUDA's libraries keep threads
/// and exit handlers.
class SharedLibrary {
 public:
  explicit SharedLibrary(const char* name) : handle_(dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
    if (handle_ != nullptr) return;
    const char* reason = dlerror();
    failure_ = reason != nullptr ? reason : "cannot be opened";
  }
  ~SharedLibrary() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;

  explicit operator bool() const { return handle_ != nullptr; }
  const std::string& failure() const { return failure_; }

  /// The function `name`; null: it or the library is missing.
  template <class Function>
  Function* function(const char* name) const {
    return handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(handle_, name));
  }

 private:
  void* handle_;
  std::string failure_;
};

}  // namespace lockstep::cuda
