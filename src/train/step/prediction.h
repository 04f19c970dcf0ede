#pragma once

#include <cstdint>

namespace lockstep {

/// Class of a sample, and the class that the network predicts; both are -1 if the sample could not be read.
struct Prediction {
  std::int32_t label = -1;
  std::int32_t predicted = -1;
};

}  // namespace lockstep
