#include "core/nearest.h"
#include "device/cuda_probe.h"
#include "lockstep/error.h"
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

std::string resolve_device(const std::string& device) {
  static const std::vector<std::string> names{"auto", "cpu", "cuda"};
  if (device == "auto") return cuda::why_no_cuda().empty() ? "cuda" : "cpu";
  if (device != "cpu" && device != "cuda") {
    throw Error(Category::usage, unknown_name("device", device, names));
  }
  return device;
}

std::unique_ptr<Backend> make_backend(const BackendOptions& options) {
  return resolve_device(options.execution.device) == "cuda" ? make_cuda_backend(options)
                                                            : make_cpu_backend(options);
}

}  // namespace lockstep
