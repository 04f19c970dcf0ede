#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::cuda {

/// Result of opening a shared library.
struct LibraryProbe {
  std::string version{};  ///< empty: the library cannot be opened
  std::string failure{};  ///< the loader's reason; empty: none
};

/// Compute mode of a GPU (nvidia-smi -c).
enum class ComputeMode { shared, exclusive_process, prohibited };

/// Description of a GPU, for `doctor` and a run's record.
struct GpuProbe {
  std::string name{};
  int major = 0, minor = 0;  ///< compute capability
  std::uint64_t memory_bytes = 0;
  std::optional<std::uint64_t> free_bytes{};  ///< none: unknown
  std::string bus{};                          ///< PCI address
  ComputeMode mode = ComputeMode::shared;
  int processes = 0;  ///< number that compute on this GPU, as far as this container can see
  int nvlinks = 0;    ///< active links
};

/// Connection between the GPUs at positions `first` and `second` of Probe::gpus.
struct LinkProbe {
  int first = 0, second = 0;
  std::string path{};   ///< "NVLink", "one PCIe switch", ...
  bool direct = false;  ///< whether one GPU can read the other's memory without a copy in host memory
};

/// State of CUDA as seen by this process. CUDA versions are numbers as in CUDART_VERSION: 13000 is 13.0.
struct Probe {
  std::string not_built{};  ///< reason why this program was built without CUDA; empty: built with CUDA
  int built_for = 0;        ///< CUDA version
  int driver_supports = 0;  ///< CUDA version; 0: no driver
  std::string driver{};     ///< version; empty: unknown
  std::optional<std::string> visible_devices{};  ///< CUDA_VISIBLE_DEVICES; none: not set
  std::string failure{};                         ///< failure of CUDA's first call; empty: none
  std::vector<GpuProbe> gpus{};                  ///< visible GPUs, in CUDA's order
  std::vector<LinkProbe> links{};                ///< one for each pair of GPUs
  LibraryProbe cudnn{}, nccl{};
};

/// Extent of a probe.
enum class Detail {
  needed,  ///< only what why_no_cuda needs
  all,     ///< everything, to show to users
};

/// Probes CUDA without creating a context. Does not throw: missing parts are reported in the result.
Probe probe(Detail detail);

/// Reason why CUDA cannot be used, and a remedy. Both are empty if CUDA can be used.
struct Obstacle {
  std::string reason{};  ///< a clause: "there is no NVIDIA driver"
  std::string hint{};    ///< an imperative

  explicit operator bool() const { return !reason.empty(); }
};

/// First obstacle that prevents the process that made `found` from computing on a GPU.
Obstacle obstacle(const Probe& found);
/// Why this process cannot use CUDA, as "reason; hint"; empty if it can.
std::string why_no_cuda();

/// Text of a CUDA version: "13.0" for 13000.
std::string cuda_version_text(int version);

}  // namespace lockstep::cuda
