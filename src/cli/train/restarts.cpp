#include "cli/train/restarts.h"

#include <algorithm>
#include <cstdlib>

#include "core/options/internal_variables.h"

namespace lockstep {

double seconds_before_this_start() {
  const char* text = std::getenv(seconds_before_variable);
  return text == nullptr ? 0.0 : std::max(0.0, std::strtod(text, nullptr));
}

}  // namespace lockstep
