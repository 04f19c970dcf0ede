#pragma once

#include <cuda_runtime_api.h>

#include <utility>

namespace lockstep::cuda {

/// Owner of a CUDA handle; null: none. Its destructor ignores errors.
template <class Raw, cudaError_t (*destroy)(Raw)>
class Handle {
 public:
  Handle() = default;
  explicit Handle(Raw raw) : raw_(raw) {}
  Handle(Handle&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~Handle() {
    if (raw_ != nullptr) destroy(raw_);
  }
  Raw get() const { return raw_; }

 private:
  Raw raw_ = nullptr;
};

using StreamOwner = Handle<cudaStream_t, cudaStreamDestroy>;
using EventOwner = Handle<cudaEvent_t, cudaEventDestroy>;
using GraphOwner = Handle<cudaGraph_t, cudaGraphDestroy>;
using ExecutableGraphOwner = Handle<cudaGraphExec_t, cudaGraphExecDestroy>;

}  // namespace lockstep::cuda
