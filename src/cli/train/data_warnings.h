#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "cli/train/train_options.h"
#include "lockstep/dataset.h"
#include "lockstep/reports.h"

namespace lockstep {

/// Warning, with advice, that reading samples, or a GPU's waiting for them, took much of the time of an
/// epoch; empty: it did not, or the epoch was too short for a measurement.
std::string slow_reading_warning(const EpochReport& epoch, const TrainOptions& options);

/// Warning that samples of `kind`, such as "training", could not be read; empty: all were read.
std::string skipped_warning(const Evaluation& evaluation, const std::string& kind);

/// Largest class of a data set.
struct MajorityClass {
  std::string name;
  double share = 0.0;  ///< of the samples; 0: unknown
};
MajorityClass majority_class(const Dataset& dataset);

/// Warning that the model is no better on the test set than one that always answers with its largest class,
/// `majority`, with advice; empty: it is better, the test set has no other class, or the learning rate still
/// rises. The first epoch always counts as part of that.
std::string majority_warning(const EpochReport& epoch, const TrainOptions& options,
                             const MajorityClass& majority);

/// Prints these warnings on stderr, each once; that of skipped samples again when their number has grown.
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
  std::map<std::string, std::uint64_t> warned_skipped_;  ///< number in the last warning, by kind of samples
};

}  // namespace lockstep
