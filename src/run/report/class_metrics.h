#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep {

/// Precision, recall and their harmonic mean for a class. Each is 0 if it would be 0/0, as in scikit-learn's
/// classification_report (zero_division=0).
struct ClassMetrics {
  std::uint64_t samples = 0;  ///< samples of this class
  double precision = 0.0;     ///< share of the predictions of this class that are correct
  double recall = 0.0;        ///< share of the samples of this class that are recognised
  double f1 = 0.0;
};

/// Numbers of samples that belong to a class, that are predicted as this class, and that are both.
struct ClassCounts {
  std::uint64_t samples = 0;
  std::uint64_t predicted = 0;
  std::uint64_t correct = 0;

  ClassMetrics metrics() const;
};

/// Counts of each class. `confusion`: numbers of samples by [class][predicted class].
std::vector<ClassCounts> counts_of(std::span<const std::uint64_t> confusion);

/// Means over the classes that have a sample or a prediction ("macro avg"), and the sum of the samples.
ClassMetrics macro_average(std::span<const ClassCounts> counts);

/// Number of classes of a confusion matrix.
std::size_t classes_of(std::span<const std::uint64_t> confusion);

}  // namespace lockstep
