#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "lockstep/reports.h"

namespace lockstep {

/// Results of each label. `outputs`: logits, `targets`: 0 or 1, both [sample][label].
std::vector<LabelResult> label_results(std::span<const float> outputs, std::span<const float> targets,
                                       std::size_t labels);

/// Mean of the average precision over the labels that at least one sample has; 0 if there are none.
double mean_average_precision(std::span<const LabelResult> labels);

}  // namespace lockstep
