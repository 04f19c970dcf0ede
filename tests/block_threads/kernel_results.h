#pragma once

#include <vector>

namespace lockstep {

/// Results of batch norm and cross entropy for fixed inputs, by the kernels of src/ops/cuda/kernels.
std::vector<std::vector<float>> kernel_results();

}  // namespace lockstep
