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

/// GPU for which operations are made: the current one, or one that a file describes (CudnnOptions).
class CudnnTarget {
 public:
  explicit CudnnTarget(const std::filesystem::path& device_properties);
  ~CudnnTarget();

  /// "NVIDIA H200, cuDNN 9.19.0"
  const std::string& name() const { return name_; }
  /// Whether it is only described: nothing can run.
  bool is_described() const { return !handle_.has_value(); }
  /// Handle of the current GPU, if it is not only described.
  const CudnnHandle& handle() const { return *handle_; }
  /// Properties of the described GPU; null for the current one.
  const std::shared_ptr<const cudnn_frontend::DeviceProperties>& properties() const { return properties_; }

 private:
  std::optional<CudnnHandle> handle_;
  std::shared_ptr<const cudnn_frontend::DeviceProperties> properties_;
  std::string name_;
};

/// Operation as a graph of cuDNN, with the engines that can run it: deterministic ones within the workspace
/// limit, without duplicates, in the order of cuDNN's heuristics (first choice, then fallbacks).
class CudnnGraph {
 public:
  struct Engine {
    std::string name;           ///< engine and its settings, "eng41_k2=4_k13=0"
    bool compiled_late{false};  ///< while it is built, for seconds and by a driver, instead of beforehand
  };

  virtual ~CudnnGraph() = default;
  virtual const std::vector<Engine>& engines() const = 0;
  /// Reason if there are no engines.
  virtual const std::string& refusal() const = 0;
  /// Makes an engine ready to run. Returns false if that is impossible, which cuDNN finds out only here.
  virtual bool build(std::size_t engine) = 0;

  // Properties of an engine that was built.
  virtual std::size_t workspace_bytes(std::size_t engine) const = 0;
  virtual void run(std::size_t engine, StreamHandle stream, std::span<void* const> tensors,
                   void* workspace) const = 0;

  /// Sizes of the tensors, in their order.
  virtual const std::vector<std::size_t>& tensor_bytes() const = 0;
};

// One for each function of Dnn; `target` must outlive them. Tensors in the same order; backward data writes
// the part of the gradient that the convolution reads.
std::unique_ptr<CudnnGraph> conv_forward_graph(const CudnnTarget& target, const ConvProblem& problem,
                                               bool bias, bool relu);
std::unique_ptr<CudnnGraph> conv_backward_data_graph(const CudnnTarget& target, const ConvProblem& problem);
std::unique_ptr<CudnnGraph> conv_backward_weights_graph(const CudnnTarget& target,
                                                        const ConvProblem& problem);
std::unique_ptr<CudnnGraph> batch_norm_forward_graph(const CudnnTarget& target,
                                                     const BatchNormProblem& problem, double eps);
std::unique_ptr<CudnnGraph> batch_norm_backward_graph(const CudnnTarget& target,
                                                      const BatchNormProblem& problem);

}  // namespace lockstep::cuda
