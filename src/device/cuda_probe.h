#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::cuda {

/// A shared library, opened to see whether it can be.
struct LibraryProbe {
  std::string version{};  ///< empty: it cannot be opened
  std::string failure{};  ///< the loader's reason then
};

/// Who may compute on a GPU (nvidia-smi -c).
enum class ComputeMode { shared, exclusive_process, prohibited };

/// A GPU as `doctor` and a run's record show it.
struct GpuProbe {
  std::string name{};
  int major = 0, minor = 0;  ///< compute capability
  int multiprocessors = 0;
  std::uint64_t memory_bytes = 0;
  std::optional<std::uint64_t> free_bytes{};  ///< none: the driver does not say
  std::string bus{};                          ///< PCI address
  ComputeMode mode = ComputeMode::shared;
  int processes = 0;  ///< that compute on it, as far as this container sees
  int nvlinks = 0;    ///< that are up
};

/// The way between two of the GPUs.
struct LinkProbe {
  int first = 0, second = 0;
  std::string path{};   ///< "NVLink", "one PCIe switch", ...
  bool direct = false;  ///< one reads the other's memory without a copy through the host's
};

/// What this process finds of CUDA. CUDA's versions are numbers as in CUDART_VERSION: 13000 is 13.0.
struct Probe {
  std::string not_built{};                       ///< why this program has no CUDA; empty: it has
  int built_for = 0;                             ///< CUDA version
  int driver_supports = 0;                       ///< CUDA version; 0: there is no driver
  std::string driver{};                          ///< its version; empty: unknown
  std::optional<std::string> visible_devices{};  ///< CUDA_VISIBLE_DEVICES, where it is set
  std::string failure{};                         ///< of CUDA's first call; empty: none
  std::vector<GpuProbe> gpus{};                  ///< visible ones, in CUDA's order
  std::vector<LinkProbe> links{};                ///< one of each pair
  LibraryProbe cudnn{}, nccl{};
  LibraryProbe nvrtc{};  ///< with which cuDNN compiles its engines for batch norm
};

/// How far to look.
enum class Detail {
  needed,  ///< what why_no_cuda asks for; little where there is no driver
  all,     ///< everything, for people
};

/// Never throws for what is missing: that is the result. Makes no CUDA context.
Probe probe(Detail detail);

/// A reason and what to do about it; no reason: nothing is wrong.
struct Obstacle {
  std::string reason{};  ///< the rest of a sentence: "there is no NVIDIA driver"
  std::string hint{};    ///< an imperative

  explicit operator bool() const { return !reason.empty(); }
};

/// What keeps the process that made `found` from computing on a GPU. The only place that knows.
Obstacle obstacle(const Probe& found);
/// The same of this process, as the rest of a sentence with the hint behind a semicolon; empty: it can.
std::string why_no_cuda();

/// "13.0" for 13000.
std::string cuda_version_text(int version);

}  // namespace lockstep::cuda
