#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ops/cuda/dnn/dnn.h"
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
  /// Whether the GPU is described by a file; operations cannot run.
  bool is_described() const { return !handle_.has_value(); }
  /// Handle of the current GPU; not if is_described().
  const CudnnHandle& handle() const { return *handle_; }
  /// Properties of the described GPU; null: current GPU.
  const std::shared_ptr<const cudnn_frontend::DeviceProperties>& properties() const { return properties_; }

 private:
  std::optional<CudnnHandle> handle_;
  std::shared_ptr<const cudnn_frontend::DeviceProperties> properties_;
  std::string name_;
};

/// An operation graph of cuDNN and the engines that can run it: deterministic, compiled in cuDNN and not by
/// NVRTC when they are first used, within the workspace limit, without duplicates, in the order of cuDNN's
/// heuristics (mode A, then fallback).
class CudnnGraph {
 public:
  struct Engine {
    std::string name;   ///< engine and its settings, "eng41_k2=4_k13=0"
    std::string notes;  ///< cuDNN's remarks, "TENSOR_CORE"; empty: none
  };

  virtual ~CudnnGraph() = default;
  virtual const std::vector<Engine>& engines() const = 0;
  /// Reason why there are no engines.
  virtual const std::string& refusal() const = 0;
  /// Makes an engine ready to run; returns whether cuDNN supports it.
  virtual bool build(std::size_t engine) = 0;

  // Functions for an engine that was built.
  virtual std::size_t workspace_bytes(std::size_t engine) const = 0;
  virtual void run(std::size_t engine, StreamHandle stream, std::span<void* const> tensors,
                   void* workspace) const = 0;

  /// Sizes of the tensors in bytes, in their order.
  virtual const std::vector<std::size_t>& tensor_bytes() const = 0;
};

// Graphs for the functions of Dnn, with tensors in the same order. `target` must outlive them. Backward data
// writes only the part of the gradient that the convolution reads.
std::unique_ptr<CudnnGraph> conv_forward_graph(const CudnnTarget& target, const ConvProblem& problem,
                                               bool bias, bool relu);
std::unique_ptr<CudnnGraph> conv_backward_data_graph(const CudnnTarget& target, const ConvProblem& problem);
std::unique_ptr<CudnnGraph> conv_backward_weights_graph(const CudnnTarget& target,
                                                        const ConvProblem& problem);

}  // namespace lockstep::cuda
