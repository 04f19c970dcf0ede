#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "cli/train/train_options.h"
#include "lockstep/dataset.h"
#include "lockstep/reports.h"

namespace lockstep {

/// Warning, with advice, that an epoch spent much of its time reading samples or, on a GPU, waiting for them;
/// empty if it did not, or if the epoch was too short for a measurement.
std::string slow_reading_warning(const EpochReport& epoch, const TrainOptions& options);

/// Warning that samples of `kind`, such as "training", could not be read; empty: all were read.
std::string skipped_warning(const Evaluation& evaluation, const std::string& kind);

/// Largest class of a data set.
struct MajorityClass {
  std::string name;
  double share = 0.0;  ///< share of the samples; 0: unknown
};
MajorityClass majority_class(const Dataset& dataset);

/// Warning, with advice, that the model is no better on the test set than always answering with its largest
/// class, `majority`; empty: it is better, the test set has no other class, or the learning rate is still
/// warming up. The first epoch always counts as warm-up.
std::string majority_warning(const EpochReport& epoch, const TrainOptions& options,
                             const MajorityClass& majority);

/// Prints these warnings on stderr, each once; the warning of skipped samples again when their number has
/// grown.
class DataWarnings {
 public:
  /// `majority`: largest class of the test set.
  explicit DataWarnings(const TrainOptions& options, MajorityClass majority = {})
      : options_(options), majority_(std::move(majority)) {}
  void look_at(const EpochReport& epoch);

 private:
  void warn_of_skipped(const Evaluation& evaluation, const std::string& kind);
  static void warn_once(bool& warned, const std::string& text);

  const TrainOptions& options_;
  MajorityClass majority_;
  bool warned_majority_ = false;
  bool warned_slow_ = false;
  std::map<std::string, std::uint64_t> warned_skipped_;  ///< number of samples in the last warning, by kind
};

}  // namespace lockstep
