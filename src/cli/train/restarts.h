#pragma once

namespace lockstep {

/// Seconds since the first start of a run that lockstep-run has started again after a failure; 0: this is the
/// first start. Equal on all ranks.
double seconds_before_this_start();

}  // namespace lockstep
