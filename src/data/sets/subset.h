#pragma once

#include "lockstep/dataset.h"

namespace lockstep {

/// Moves `fraction` of the samples of each class of `pair.train` to `pair.validation` (data/sets/held_out.h).
/// Keys are hashes of the samples' numbers: the same samples in every run on the same data. Throws
/// Error(data) if either part would be empty, Error(usage) for more than 2^32 samples.
void hold_out_validation(DatasetPair& pair, double fraction);

}  // namespace lockstep
