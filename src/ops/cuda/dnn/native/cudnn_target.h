#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "ops/cuda/dnn/native/cudnn_library.h"

namespace cudnn_frontend {
class DeviceProperties;
}

namespace lockstep::cuda {

/// GPU that operations are planned for: the current one, or one described by a file (CudnnOptions).
class CudnnTarget {
 public:
  explicit CudnnTarget(const std::filesystem::path& device_properties);
  ~CudnnTarget();

  /// "NVIDIA H200, cuDNN 9.19.0"
  const std::string& name() const { return name_; }
  /// Whether the GPU is described by a file; operations then cannot run.
  bool is_described() const { return !handle_.has_value(); }
  /// Handle of the current GPU. Must not be called if is_described().
  const CudnnHandle& handle() const { return *handle_; }
  /// Properties of the described GPU; null: current GPU.
  const std::shared_ptr<const cudnn_frontend::DeviceProperties>& properties() const { return properties_; }

 private:
  std::optional<CudnnHandle> handle_;
  std::shared_ptr<const cudnn_frontend::DeviceProperties> properties_;
  std::string name_;
};

}  // namespace lockstep::cuda
