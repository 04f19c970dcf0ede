#include "run/report/calibration_error.h"

#include <algorithm>
#include <cmath>

namespace lockstep {

void CalibrationError::add(double probability, bool correct) {
  if (std::isnan(probability)) return;
  const double bin = std::ceil(probability * static_cast<double>(bins_.size())) - 1.0;
  Bin& found = bins_[static_cast<std::size_t>(std::clamp(bin, 0.0, static_cast<double>(bins_.size() - 1)))];
  ++found.samples;
  found.correct += correct ? 1 : 0;
  found.probability += probability;
}

double CalibrationError::value() const {
  double distance = 0.0;
  std::uint64_t samples = 0;
  for (const Bin& bin : bins_) {
    distance += std::abs(static_cast<double>(bin.correct) - bin.probability);
    samples += bin.samples;
  }
  return samples == 0 ? 0.0 : distance / static_cast<double>(samples);
}

}  // namespace lockstep
