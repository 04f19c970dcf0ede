#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

#include "ops/cuda/dnn/dnn.h"

namespace lockstep::cuda {

/// Maximum workspace of an operation of cuDNN. A constant, since free memory differs from run to run, and
/// with it the choice of engines and the bits.
constexpr std::size_t cudnn_workspace_limit = std::size_t{512} << 20;

struct CudnnOptions {
  /// Whether engines are chosen by a short timing run on the current GPU instead of by cuDNN's own order. Not
  /// where plan_cache is only read.
  bool time_plans = false;
  /// File that keeps which engine was chosen for which problem, by GPU and version of cuDNN; empty: none.
  /// Choices that it holds are used; those that it lacks are made and added at once. Engines in it that were
  /// not timed are timed when time_plans asks for it.
  std::filesystem::path plan_cache{};
  /// Whether plan_cache is written. One writer per file, and the same engines on all ranks of a run: one rank
  /// writes, and makes its plans before the others make theirs. Those look into the file for each of them.
  bool write_plan_cache = true;
  /// File that describes a GPU, as cuDNN serializes its properties: plans are made for that one, and none
  /// need be here. They cannot run. Empty: the calling thread's current GPU.
  std::filesystem::path device_properties{};
};

/// cuDNN's convolutions and batch norm by its graph API. Engines are deterministic; those of fp32 multiply
/// in float. They are taken in the order of cuDNN's heuristics, those compiled beforehand first: compiling
/// one while the program starts takes seconds. Plans for equal problems share what was built. They keep the
/// library open; one must outlive the CUDA graphs that its work was recorded into.
///
/// Throws Error(resource) where libcudnn is missing or refuses, Error(data) for a damaged plan_cache or
/// device_properties. Use from one thread at a time.
std::unique_ptr<Dnn> make_cudnn(const CudnnOptions& options);

}  // namespace lockstep::cuda
