#pragma once

#include "lockstep/dataset.h"

namespace lockstep {

/// Divides `pair.train`: `fraction` of its samples, rounded down, become `pair.validation`. A keyed
/// permutation of the samples chooses them (key 0, Purpose::validation), so that they are the same in every
/// run on the same data. Throws Error(data) where one of both would be empty.
void hold_out_validation(DatasetPair& pair, double fraction);

}  // namespace lockstep
