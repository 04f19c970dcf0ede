#pragma once

#include "cli/doctor/findings.h"
#include "lockstep/execution.h"

namespace lockstep {

class World;

/// Trains LeNet for a few steps on synthetic images with the options `execution`: on all ranks together, then
/// on rank 0 alone. The last step is smaller. The second training is skipped if ranks use different kinds of
/// device, because digests would differ. The finding is `missing` unless all digests are equal; only rank 0
/// has compared them all. Collective; throws as Trainer does.
Finding run_self_test(const World& world, const ExecutionOptions& execution);

}  // namespace lockstep
