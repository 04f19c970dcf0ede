#pragma once

#include <cstdint>
#include <string>

#include "cli/train/train_options.h"
#include "lockstep/reports.h"

namespace lockstep {

/// Warning, with advice, that reading samples, or a GPU's waiting for them, took much of the time of an
/// epoch; empty: it did not, or the epoch was too short for a measurement.
std::string slow_reading_warning(const EpochReport& epoch, const TrainOptions& options);

/// Warning that samples of `kind`, such as "training", could not be read; empty: all were read.
std::string skipped_warning(const Evaluation& evaluation, const std::string& kind);

/// Prints these warnings on stderr, each once; that of skipped samples again when their number has grown.
class DataWarnings {
 public:
  explicit DataWarnings(const TrainOptions& options) : options_(options) {}
  void look_at(const EpochReport& epoch);

 private:
  static void warn_of_skipped(const Evaluation& evaluation, const std::string& kind, std::uint64_t& warned);

  const TrainOptions& options_;
  bool warned_slow_ = false;
  std::uint64_t warned_train_ = 0;
  std::uint64_t warned_test_ = 0;
  std::uint64_t warned_validation_ = 0;
};

}  // namespace lockstep
