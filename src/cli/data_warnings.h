#pragma once

#include <cstdint>
#include <string>

#include "cli/train_options.h"
#include "lockstep/reports.h"

namespace lockstep {

/// What helps where reading the samples, or a GPU's waiting for them, took much of an epoch's time; empty
/// where it did not, or where the epoch was too short to tell.
std::string slow_reading_warning(const EpochReport& epoch, const TrainOptions& options);

/// How many of the samples, "training" or "test", could not be read; empty where all could.
std::string skipped_warning(const Evaluation& evaluation, const std::string& kind);

/// Prints these warnings on stderr, each once: left-out samples again where they have become more.
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
};

}  // namespace lockstep
