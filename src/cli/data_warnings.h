#pragma once

#include <cstdint>
#include <string>

#include "cli/train/train_options.h"
#include "lockstep/reports.h"

namespace lockstep {

/// Warning, with advice, that reading samples, or a GPU's waiting for them, took much of the time of an
/// epoch; empty: it did not, or the epoch was too short to tell.
std::string slow_reading_warning(const EpochReport& epoch, const TrainOptions& options);

/// Warning that samples of `kind`, such as "training", could not be read; empty: all were read.
std::string skipped_warning(const Evaluation& evaluation, const std::string& kind);

/// Prints these warnings on stderr, each once; that of skipped samples again when their number has grown.
class DataWarnings {
 public:
  explicit DataWarnings(const TrainOptions& options) : options_(options) {}
  void look_at(const EpochReport& epoch);

 private:
  static void tell_skipped(const Evaluation& evaluation, const std::string& kind, std::uint64_t& told);

  const TrainOptions& options_;
  bool slow_told_ = false;
  std::uint64_t train_told_ = 0;
  std::uint64_t test_told_ = 0;
  std::uint64_t validation_told_ = 0;
};

}  // namespace lockstep
