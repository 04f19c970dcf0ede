// The emulated machine has one GPU and all libraries. CUDA_VISIBLE_DEVICES= hides the GPU.
#include <cstdlib>

#include "device/cuda_probe.h"

namespace lockstep::cuda {

Probe probe(Detail /*detail*/) {
  Probe found;
  found.built_for = found.driver_supports = 13000;
  found.driver = "emulated";
  found.gpus = {{.name = "emulated",
                 .major = 9,
                 .minor = 0,
                 .multiprocessors = 1,
                 .memory_bytes = 1 << 30,
                 .bus = "0000:00:00"}};
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES"); visible != nullptr && *visible == '\0') {
    found.visible_devices = visible;
    found.gpus.clear();
  }
  found.cudnn.version = found.nccl.version = "emulated";
  return found;
}

}  // namespace lockstep::cuda
