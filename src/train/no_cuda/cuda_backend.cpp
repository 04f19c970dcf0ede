#include "lockstep/error.h"
#include "train/backend.h"

namespace lockstep {

std::string why_no_cuda() { return "this program was built without CUDA (" LOCKSTEP_CUDA_MISSING ")"; }

}  // namespace lockstep
