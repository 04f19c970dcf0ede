#pragma once

#include <cstdint>

namespace lockstep {

/// A sample's class and what the network takes it for; -1: it could not be read.
struct Prediction {
  std::int32_t label = -1;
  std::int32_t predicted = -1;
};

}  // namespace lockstep
