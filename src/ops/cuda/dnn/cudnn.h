#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

#include "ops/cuda/dnn/dnn.h"

namespace lockstep::cuda {

/// Maximum workspace of a cuDNN operation. A constant, because the choice of engines, and thus the bits of
/// results, must not depend on free memory.
constexpr std::size_t cudnn_workspace_limit = std::size_t{512} << 20;

struct CudnnOptions {
  /// Whether engines are chosen by a short timing run on the current GPU, instead of by cuDNN's order. No
  /// effect if write_plan_cache is false.
  bool time_plans = false;
  /// File with the engine chosen for each problem, GPU and cuDNN version. Engines in the file are used;
  /// others are chosen and added immediately. Empty: none.
  std::filesystem::path plan_cache{};
  /// Whether plan_cache is written. To give all ranks the same engines, one rank writes the file and plans
  /// its operations first; the others use its engines (Dnn::use_engines), because files may differ between
  /// hosts.
  bool write_plan_cache = true;
  /// File with the properties of a GPU, as serialized by cuDNN. Operations are planned for this GPU and
  /// cannot run. Empty: the calling thread's current GPU.
  std::filesystem::path device_properties{};
};

/// Convolutions by cuDNN's graph API. The engines used are deterministic; with fp32 they multiply in float.
/// Engines are tried in the order of cuDNN's heuristics; without timing, engines that are probably slow come
/// last (reason_to_avoid in problems.h). Engines that NVRTC would have to compile, which takes seconds each,
/// are not used. Operations for equal problems share an engine. An operation must outlive the CUDA graphs
/// that its work was recorded into.
///
/// Throws Error(resource) if libcudnn is missing or fails, Error(data) for a damaged plan_cache or
/// device_properties. Use from one thread at a time.
std::unique_ptr<Dnn> make_cudnn(const CudnnOptions& options);

}  // namespace lockstep::cuda
