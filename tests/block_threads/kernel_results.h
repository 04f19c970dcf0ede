#pragma once

#include <vector>

namespace lockstep {

/// What batch norm and cross entropy compute from fixed inputs, by the kernels of src/ops/cuda/kernels.
std::vector<std::vector<float>> kernel_results();

}  // namespace lockstep
