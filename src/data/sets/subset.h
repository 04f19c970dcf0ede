#pragma once

#include "lockstep/dataset.h"

namespace lockstep {

/// Moves `fraction` of the samples of each class of `pair.train` to `pair.validation` (data/sets/held_out.h).
/// Keys are hashes of the sample ids, so that every run on the same data holds out the same samples. Throws
/// Error(data) if the validation part would be empty, Error(usage) for more than 2^32 samples.
void hold_out_validation(DatasetPair& pair, double fraction);

}  // namespace lockstep
