#pragma once

#include <array>
#include <cstdint>

namespace lockstep {

/// Expected calibration error: how far the probabilities of predicted classes are from the shares of them
/// that are correct, in [0, 1]. Guo et al., "On Calibration of Modern Neural Networks" (ICML 2017), equation
/// 3, with 15 bins: bin m has the samples with probabilities in ((m-1)/15, m/15].
class CalibrationError {
 public:
  /// Adds a sample: the probability of its predicted class, in [0, 1], and whether that class is correct.
  /// Ignores a probability that is NaN.
  void add(double probability, bool correct);
  /// The error over the samples so far; without any: 0. Depends on their order only by rounding.
  double value() const;

 private:
  struct Bin {
    std::uint64_t samples = 0;
    std::uint64_t correct = 0;
    double probability = 0.0;  ///< sum
  };
  std::array<Bin, 15> bins_{};
};

}  // namespace lockstep
