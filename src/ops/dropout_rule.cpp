#include "ops/dropout_rule.h"

#include <cmath>

namespace lockstep {

DropoutRule dropout_rule(double p, int position) {
  return {.position = static_cast<std::uint32_t>(position),
          .threshold = static_cast<std::uint32_t>(std::lround(p * 16777216.0)),
          .scale = static_cast<float>(1.0 / (1.0 - p))};
}

}  // namespace lockstep
