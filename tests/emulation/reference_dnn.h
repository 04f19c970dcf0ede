#pragma once

#include <memory>

#include "ops/cuda/dnn/dnn.h"

namespace lockstep::cuda {

/// Convolutions in plain loops on the host: sums in double precision, rounded once to the
/// type. tf32 multiplies as fp32 does. Fills its workspace with garbage, as a library may.
std::unique_ptr<Dnn> make_reference_dnn();

}  // namespace lockstep::cuda
