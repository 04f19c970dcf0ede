#include "lockstep/error.h"
#include "train/backend.h"

namespace lockstep {

std::string why_no_cuda() { return "this program was built without CUDA (" LOCKSTEP_CUDA_MISSING ")"; }

std::unique_ptr<Backend> make_cuda_backend(const BackendOptions& /*options*/) {
  throw Error(Category::resource, why_no_cuda());
}

}  // namespace lockstep
