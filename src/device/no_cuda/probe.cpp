#include "device/cuda_probe.h"

namespace lockstep::cuda {

Probe probe(Detail /*detail*/) {
  Probe found;
  found.not_built = LOCKSTEP_CUDA_MISSING;
  return found;
}

}  // namespace lockstep::cuda
