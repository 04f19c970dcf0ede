#pragma once

#include <string>
#include <vector>

namespace lockstep {

/// Results of a group of kernels for fixed inputs: "batch_norm" (training), "batch_norm_in_evaluation",
/// "cross_entropy" (few classes and many), "group_norm", "finish_gradients", "norms", "choose_samples".
std::vector<std::vector<float>> kernel_results(const std::string& kernels);

}  // namespace lockstep
