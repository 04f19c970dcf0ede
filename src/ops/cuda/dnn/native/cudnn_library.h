#pragma once

#include <cudnn.h>

#include <string>

#include "device/cuda/stream_handle.h"

namespace lockstep::cuda {

/// libcudnn, opened on first use and never closed. Safe from any thread.
class CudnnLibrary {
 public:
  /// Throws Error(resource) with the reason if the library cannot be opened; later calls try again.
  static const CudnnLibrary& open();

  void* handle() const { return handle_; }
  /// "9.19.0"
  std::string version() const;
  /// Throws Error(resource) naming `call` and cuDNN's reasons unless `status` is success.
  void check(cudnnStatus_t status, const char* call) const;

  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

 private:
  CudnnLibrary();
  void* symbol(const char* name) const;

  void* handle_;
};

/// cudnnHandle_t of the current GPU.
class CudnnHandle {
 public:
  explicit CudnnHandle(const CudnnLibrary& library);
  ~CudnnHandle();
  CudnnHandle(const CudnnHandle&) = delete;
  CudnnHandle& operator=(const CudnnHandle&) = delete;

  /// Returns the handle with its stream set to `stream`.
  cudnnHandle_t on(StreamHandle stream) const;
  cudnnHandle_t get() const { return raw_; }

 private:
  const CudnnLibrary& library_;
  cudnnHandle_t raw_ = nullptr;
};

}  // namespace lockstep::cuda
