#include <fmt/format.h>

#include "core/nearest.h"
#include "lockstep/error.h"
#include "train/backend.h"

namespace lockstep {

std::unique_ptr<Backend> make_backend(const BackendOptions& options) {
  if (options.device == "cpu") return make_cpu_backend(options);
  if (options.device == "auto" && !why_no_cuda().empty()) return make_cpu_backend(options);
  if (options.device == "cuda" || options.device == "auto") return make_cuda_backend(options);
  static const std::vector<std::string> names{"auto", "cpu", "cuda"};
  throw Error(Category::usage, unknown_name("device", options.device, names));
}

}  // namespace lockstep
