#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "lockstep/reports.h"

namespace lockstep {

/// Results of each label. `outputs`: logits, `targets`: 0 or 1, both [sample][label].
std::vector<LabelResult> label_results(std::span<const float> outputs, std::span<const float> targets,
                                       std::size_t labels);

/// Mean over the labels that a sample has; 0 without such a label.
double mean_average_precision(std::span<const LabelResult> labels);

}  // namespace lockstep
