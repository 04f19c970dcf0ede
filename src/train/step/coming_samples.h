#pragma once

#include <functional>
#include <vector>

#include "data/feed/loader.h"
#include "gradient/assignment.h"
#include "train/run.h"

namespace lockstep {

/// Positions in the epoch that each executor of this rank computes, from step `first_step` of the epoch on:
/// by executor, then by step; an executor may have no part in a step. `assigned`: assignment of a step of
/// `leaves` leaves.
std::vector<std::vector<SampleRange>> coming_samples(
    const Loader& loader, const EpochSteps& epoch, std::uint64_t first_step,
    const std::function<Assignment(std::uint32_t leaves)>& assigned);

}  // namespace lockstep
