#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/files/atomic_file.h"
#include "lockstep/dataset.h"
#include "lockstep/evaluation.h"
#include "run/report/calibration_error.h"

namespace lockstep {

/// Whether `text` begins with the header of the file that SamplePredictions writes.
bool are_predictions(std::string_view text);

/// Processes a network's outputs for each sample of a data set: writes a CSV file of predictions and computes
/// the calibration error of a classifier. The columns of the file are sample, class, predicted and
/// probability; for Task::regression: sample, target (table_number) and predicted (all digits), in the
/// table's unit. Columns after the second are empty for samples that cannot be read or whose outputs are not
/// finite.
class SamplePredictions {
 public:
  /// `classes`: names of the network's outputs. `file`: created or replaced by finish(); empty: no file is
  /// written. Throws Error(resource) if the file cannot be written.
  SamplePredictions(const Dataset& dataset, Names classes, const std::string& file);

  /// Adds the samples of a block; blocks must be added in the order of the data set.
  void add(const OutputBlock& block);
  /// Writes the file.
  void finish() {
    if (file_) file_->commit();
  }
  /// Calibration error of the samples so far; none for Task::regression.
  std::optional<double> calibration_error() const;

 private:
  bool has_classes() const { return dataset_.task() == Task::classification; }
  /// Cells after the sample's name. Empty `outputs`: the sample has no usable outputs.
  std::string cells(std::uint64_t sample, std::span<const float> outputs);
  std::string class_cells(std::uint64_t sample, std::span<const float> outputs);

  const Dataset& dataset_;
  Names classes_;
  std::optional<AtomicFile> file_;
  std::vector<double> probabilities_;  ///< of one sample
  CalibrationError calibration_error_;
};

}  // namespace lockstep
