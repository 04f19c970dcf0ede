#include "device/cuda_probe.h"
#include "lockstep/error.h"
#include "train/session/backend.h"

namespace lockstep {

std::unique_ptr<Backend> make_cuda_backend(const BackendOptions& /*options*/) {
  throw Error(Category::resource, cuda::why_no_cuda());
}

}  // namespace lockstep
