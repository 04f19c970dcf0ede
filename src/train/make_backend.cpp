#include <fmt/format.h>

#include <algorithm>

#include "comm/gpu_communicator.h"
#include "core/nearest.h"
#include "device/cuda_probe.h"
#include "lockstep/error.h"
#include "lockstep/world.h"
#include "train/backend.h"

namespace lockstep {

const char* name_of(DataType dtype) {
  switch (dtype) {
    case DataType::fp32:
      return "fp32";
    case DataType::tf32:
      return "tf32";
    case DataType::bf16:
      return "bf16";
  }
  return "unknown";
}

namespace {

/// Throws where this host's ranks cannot all compute with CUDA.
void check_cuda_for_all(const World& world, GpuSharing sharing) {
  if (const std::string reason = cuda::why_no_cuda(); !reason.empty()) {
    throw Error(Category::resource, reason);
  }
  const std::size_t gpus = cuda::probe(cuda::Detail::needed).gpus.size();
  if (sharing == GpuSharing::allowed || static_cast<std::size_t>(world.local_size()) <= gpus) return;
  if (world.local_rank() == 0) {  // one line of a host
    fmt::print(
        stderr,
        "lockstep: warning: {} has {} ranks and {} GPU{}: computing on processors; start as many ranks "
        "as GPUs, or say --device cuda --transport shared-memory to share them\n",
        world.host(), world.local_size(), gpus, gpus == 1 ? "" : "s");
  }
  throw Error(Category::resource, "more ranks than GPUs");
}

}  // namespace

std::string resolve_device(const World& world, const ExecutionOptions& execution) {
  static const std::vector<std::string> names{"auto", "cpu", "cuda"};
  const std::string& device = execution.device;
  world.agree([&] {
    if (std::ranges::find(names, device) != names.end()) return;
    throw Error(Category::usage, unknown_name("device", device, names));
  });
  try {  // ranks agree on what is no failure: some of them, or all, cannot
    world.agree([&] {
      if (device == "auto") check_cuda_for_all(world, sharing_for(execution.transport));
    });
  } catch (const Error&) {
    if (device == "auto") return "cpu";
  }
  return device == "auto" ? "cuda" : device;
}

std::unique_ptr<Backend> make_backend(const BackendOptions& options) {
  const std::string& device = options.execution.device;
  if (device == "cuda") return make_cuda_backend(options);
  if (device == "cpu") return make_cpu_backend(options);
  throw Error(Category::internal, "a backend for a device that was not resolved: " + device);
}

}  // namespace lockstep
