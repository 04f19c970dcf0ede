#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

#include "ops/cuda/dnn/dnn.h"

namespace lockstep::cuda {

/// Maximum workspace of an operation of cuDNN. A constant, since the choice of engines, and thereby the bits,
/// must not depend on free memory.
constexpr std::size_t cudnn_workspace_limit = std::size_t{512} << 20;

struct CudnnOptions {
  /// Whether engines are chosen by a short timing run on the current GPU, not by cuDNN's order. No effect if
  /// plan_cache is only read.
  bool time_plans = false;
  /// File of the engines chosen for each problem, GPU and version of cuDNN. Engines in the file are used;
  /// others are chosen and added immediately. Empty: none.
  std::filesystem::path plan_cache{};
  /// Whether plan_cache is written. To give all ranks the same engines, one rank writes the file and plans
  /// its operations first; the others use its engines (Dnn::use_engines), as hosts may have other files.
  bool write_plan_cache = true;
  /// File with the properties of a GPU, as serialized by cuDNN. Operations are planned for this GPU and
  /// cannot run. Empty: the calling thread's current GPU.
  std::filesystem::path device_properties{};
};

/// Convolutions of cuDNN, by its graph API. Engines are deterministic; with fp32 they multiply in float. They
/// are tried in the order of cuDNN's heuristics; without timing, engines that are probably slow come last
/// (reason_to_avoid in problems.h). Engines that NVRTC would have to compile, in seconds each, are not used.
/// Operations for equal problems share an engine. An operation must outlive the CUDA graphs that its work was
/// recorded into.
///
/// Throws Error(resource) if libcudnn is missing or fails, Error(data) for a damaged plan_cache or
/// device_properties. Use from one thread at a time.
std::unique_ptr<Dnn> make_cudnn(const CudnnOptions& options);

}  // namespace lockstep::cuda
