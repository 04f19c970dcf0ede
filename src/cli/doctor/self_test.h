#pragma once

#include "cli/doctor/findings.h"
#include "lockstep/execution.h"

namespace lockstep {

class World;

/// Trains LeNet, executed as `execution` says, on synthetic images for a few steps, the last one smaller: on
/// all ranks together, then on rank 0 alone, unless the ranks' kinds of device differ, as digests would. The
/// finding is `missing` unless all digests are equal; only rank 0 has compared them all. Collective; fails as
/// Trainer does.
Finding run_self_test(const World& world, const ExecutionOptions& execution);

}  // namespace lockstep
