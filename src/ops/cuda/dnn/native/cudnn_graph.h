#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ops/cuda/dnn/dnn.h"
#include "ops/cuda/dnn/problems.h"

namespace lockstep::cuda {

class CudnnTarget;

/// A cuDNN operation graph and the engines that can run it. The engines are deterministic, compiled in
/// advance instead of by NVRTC on first use, and within the workspace limit. They are listed without
/// duplicates in the order of cuDNN's heuristics (mode A, then fallback).
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

  // These functions require that the engine has been built.
  virtual std::size_t workspace_bytes(std::size_t engine) const = 0;
  virtual void run(std::size_t engine, StreamHandle stream, std::span<void* const> tensors,
                   void* workspace) const = 0;

  /// Sizes of the tensors in bytes, in the order of Dnn::plan.
  virtual const std::vector<std::size_t>& tensor_bytes() const = 0;
};

/// Graph with the tensors of Dnn::plan, in the same order. `target` must outlive the graph. Backward data
/// writes the input gradient only for the part of the input that the convolution reads.
std::unique_ptr<CudnnGraph> conv_graph(const CudnnTarget& target, const ConvTask& task);

}  // namespace lockstep::cuda
