// The emulated machine has all libraries, and as many GPUs as CUDA_VISIBLE_DEVICES names; one if it is not
// set.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "device/cuda_probe.h"

namespace lockstep::cuda {

Probe probe(Detail /*detail*/) {
  Probe found;
  found.built_for = found.driver_supports = 13000;
  found.driver = "emulated";
  int count = 1;
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) {
    found.visible_devices = visible;
    const std::string names(visible);
    count = names.empty() ? 0 : 1 + static_cast<int>(std::ranges::count(names, ','));
  }
  for (int i = 0; i < count; ++i) {
    found.gpus.push_back({.name = "emulated",
                          .major = 9,
                          .minor = 0,
                          .multiprocessors = 1,
                          .memory_bytes = 1 << 30,
                          .bus = fmt::format("0000:{:02x}:00", i)});
  }
  found.cudnn.version = found.nccl.version = "emulated";
  return found;
}

}  // namespace lockstep::cuda
