#include "device/cuda_probe.h"

#include <fmt/format.h>

namespace lockstep::cuda {
namespace {

constexpr int min_major = 8;  // compute capability 8.0 is required by bf16, tf32 and the compiled kernels

/// Oldest CUDA version that a driver must support to run programs built with CUDA `version`: the first of the
/// same major version. For CUDA 12 it is 12.1, the first to allow more than 4 KB of kernel arguments, which
/// sums of many parts need.
int min_driver_supports(int version) { return version / 1000 == 12 ? 12010 : version / 1000 * 1000; }

/// Oldest driver that supports min_driver_supports(version) (release notes of the CUDA toolkit, table 3).
std::string min_driver(int version) {
  switch (version / 1000) {
    case 13:
      return "580";
    case 12:
      return "530";
    default:
      return "one of that version";
  }
}

Obstacle build_obstacle(const Probe& found) {
  if (found.not_built.empty()) return {};
  return {fmt::format("this program was built without CUDA ({})", found.not_built),
          "build it on a machine with CUDA, cuDNN and NCCL: docs/gpu.md"};
}

Obstacle driver_obstacle(const Probe& found) {
  if (found.driver_supports == 0 && found.failure.empty()) {
    return {"there is no NVIDIA driver",
            "install one; in a container: docker run --gpus all, or --nv of Apptainer"};
  }
  if (found.driver_supports != 0 && found.driver_supports < min_driver_supports(found.built_for)) {
    const std::string version = found.driver.empty() ? "" : " " + found.driver;
    const int major = found.driver_supports / 1000;
    return {
        fmt::format("the NVIDIA driver{} is too old: it is for CUDA {}, this program for CUDA {}", version,
                    cuda_version_text(found.driver_supports), cuda_version_text(found.built_for)),
        fmt::format(
            "install driver {} or newer{}", min_driver(found.built_for),
            major < found.built_for / 1000 ? fmt::format(", or build lockstep with CUDA {}", major) : "")};
  }
  if (!found.failure.empty()) {
    return {"CUDA does not start: " + found.failure, "check nvidia-smi and dmesg"};
  }
  return {};
}

Obstacle gpu_obstacle(const Probe& found) {
  if (found.gpus.empty() && found.visible_devices) {
    return {fmt::format("no GPU is visible, CUDA_VISIBLE_DEVICES is '{}'", *found.visible_devices),
            "unset CUDA_VISIBLE_DEVICES, or name GPUs of nvidia-smi -L in it"};
  }
  if (found.gpus.empty()) {
    return {"the NVIDIA driver finds no GPU",
            "request one: docker run --gpus all, sbatch --gpus-per-node; check nvidia-smi"};
  }
  for (std::size_t i = 0; i < found.gpus.size(); ++i) {
    const GpuProbe& gpu = found.gpus[i];
    if (gpu.major < min_major) {
      return {fmt::format("GPU {} ({}) has compute capability {}.{}, {}.0 is required", i, gpu.name,
                          gpu.major, gpu.minor, min_major),
              "hide it with CUDA_VISIBLE_DEVICES"};
    }
    if (gpu.mode == ComputeMode::prohibited) {
      return {fmt::format("GPU {} ({}) is in compute mode 'prohibited'", i, gpu.name),
              "nvidia-smi -c 0, or hide it with CUDA_VISIBLE_DEVICES"};
    }
  }
  return {};
}

Obstacle cudnn_obstacle(const Probe& found) {
  if (!found.cudnn.version.empty()) return {};
  return {fmt::format("cuDNN cannot be opened ({})", found.cudnn.failure),
          "install cuDNN 9, or put its folder into LD_LIBRARY_PATH"};
}

}  // namespace

std::string cuda_version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Obstacle obstacle(const Probe& found) {
  for (const auto check : {build_obstacle, driver_obstacle, gpu_obstacle, cudnn_obstacle}) {
    if (Obstacle first = check(found)) return first;
  }
  return {};
}

std::string why_no_cuda() {
  const Obstacle found = obstacle(probe(Detail::needed));
  return found ? found.reason + "; " + found.hint : "";
}

}  // namespace lockstep::cuda
