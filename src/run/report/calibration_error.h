#pragma once

#include <array>
#include <cstdint>

namespace lockstep {

/// Expected calibration error: how far the probabilities of predicted classes are from the shares of correct
/// predictions, in [0, 1]. Guo et al., "On Calibration of Modern Neural Networks" (ICML 2017), equation 3,
/// with 15 bins: bin m holds the samples with probabilities in ((m-1)/15, m/15].
class CalibrationError {
 public:
  /// Adds a sample: the probability of its predicted class, in [0, 1], and whether that class is correct.
  /// Ignores a probability that is NaN.
  void add(double probability, bool correct);
  /// The error over the samples so far; 0 if there are none. The order of the samples affects only rounding.
  double value() const;

 private:
  struct Bin {
    std::uint64_t samples = 0;
    std::uint64_t correct = 0;
    double probability = 0.0;  ///< sum over the samples
  };
  std::array<Bin, 15> bins_{};
};

}  // namespace lockstep
