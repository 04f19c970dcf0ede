#pragma once

#include "lockstep/dataset.h"
#include "lockstep/network.h"

namespace lockstep {

/// Throws Error(usage) when the network cannot take the data set: no samples, other images, more classes.
void check_fit(const Network& network, const Dataset& dataset);

}  // namespace lockstep
