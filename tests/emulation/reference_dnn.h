#pragma once

#include <memory>

#include "ops/cuda/dnn/dnn.h"

namespace lockstep::cuda {

/// A library of convolutions and batch norm for the host: plain loops, sums in double precision, one rounding
/// to the type at the end. tf32 multiplies as fp32 does. Fills the workspace that it asks for with garbage,
/// as a library may.
std::unique_ptr<Dnn> make_reference_dnn();

}  // namespace lockstep::cuda
