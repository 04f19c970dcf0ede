#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/files/atomic_file.h"
#include "lockstep/dataset.h"
#include "lockstep/evaluation.h"
#include "run/report/calibration_error.h"

namespace lockstep {

/// What the outputs of a classifier for each sample of a data set show: the calibration error, and a CSV file
/// of predictions with the columns sample, class, predicted and probability. The last two are empty for a
/// sample that cannot be read.
class SamplePredictions {
 public:
  /// `classes`: names of the network's outputs. `file`: replaced by finish; empty: no file is written. Throws
  /// Error(resource) if it cannot be.
  SamplePredictions(const Dataset& dataset, Names classes, const std::string& file);

  /// Adds the samples of a block; blocks come in the order of the data set.
  void add(const OutputBlock& block);
  /// Writes the file. Returns the calibration error.
  double finish();

 private:
  const Dataset& dataset_;
  Names classes_;
  std::optional<AtomicFile> file_;
  std::vector<double> probabilities_;  ///< of a sample
  CalibrationError calibration_error_;
};

}  // namespace lockstep
