#pragma once

#include "lockstep/dataset.h"

namespace lockstep {

/// Moves `fraction` of the samples of `pair.train`, rounded down, to `pair.validation`. They are chosen by a
/// keyed permutation (key 0, Purpose::validation): the same ones in every run on the same data. Throws
/// Error(data) if either part would be empty.
void hold_out_validation(DatasetPair& pair, double fraction);

}  // namespace lockstep
