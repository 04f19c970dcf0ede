#pragma once

#include "watch/watch.h"

namespace lockstep {

class World;

/// The watchdog of this rank.
Watch& watch_of(const World& world);

}  // namespace lockstep
