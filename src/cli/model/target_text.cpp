#include "cli/model/target_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lockstep {

double table_number(float target, const TargetScale& scale) {
  const double distance = scale.deviation * std::max(1.0, std::fabs(static_cast<double>(target)));
  const double exponent = std::floor(std::log10(distance * 2e-6));
  const double number = in_unit(target, scale);
  // Negative powers of ten are not exact, so only positive powers are used. Adding 0 turns -0 into 0.
  if (exponent < 0.0) {
    const double power = std::pow(10.0, -exponent);
    return std::round(number * power) / power + 0.0;
  }
  const double power = std::pow(10.0, exponent);
  return std::round(number / power) * power + 0.0;
}

std::string target_text(double number, const TargetScale& scale) {
  constexpr int most = 15;
  int decimals = 0;
  const double last_digit = scale.deviation * 1e-4;
  for (double unit = 1.0; unit > last_digit && decimals < most; unit /= 10.0) ++decimals;
  if (0.0 < last_digit && last_digit < 1e-15) {
    const double digits = std::log10(std::max(1.0, std::fabs(number) / last_digit));
    return fmt::format("{:.{}e}", number, std::min(most, static_cast<int>(digits)));
  }
  return fmt::format("{:.{}f}", number, decimals);
}

}  // namespace lockstep
