#include "cli/model/target_text.h"

#include <fmt/format.h>

namespace lockstep {

std::string target_text(double number, const TargetScale& scale) {
  constexpr int most = 15;
  int decimals = 0;
  for (double unit = 1.0; unit > scale.deviation * 1e-4 && decimals < most; unit /= 10.0) ++decimals;
  return fmt::format("{:.{}f}", number, decimals);
}

}  // namespace lockstep
