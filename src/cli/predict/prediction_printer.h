#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lockstep/dataset.h"
#include "lockstep/evaluation.h"
#include "lockstep/field.h"

namespace lockstep {

/// Form of the predictions on stdout.
enum class PredictionFormat { text, csv, json };
inline Names choices_of(PredictionFormat) { return {"text", "csv", "json"}; }

/// Texts of predictions, in the order of the samples. Numbers and classes do not depend on ranks and threads.
class PredictionPrinter {
 public:
  /// `classes`: names of the network's outputs. `top`: number of classes of each sample, at least 1; more
  /// than there are means all.
  PredictionPrinter(const Dataset& dataset, std::vector<std::string> classes, std::size_t top,
                    PredictionFormat format);

  /// Line before the first sample; may be empty.
  std::string head() const;
  /// Lines of the samples of a block. Those that cannot be read have a line in JSON only.
  std::string text(const OutputBlock& block);

 private:
  std::string line(std::uint64_t sample, std::span<const float> outputs);
  std::string unreadable_line(const UnreadableSample& sample) const;

  const Dataset& dataset_;
  std::vector<std::string> classes_;
  std::size_t top_;
  PredictionFormat format_;
  std::vector<double> probabilities_;  ///< of a sample
  std::vector<std::size_t> order_;     ///< classes of a sample, the most probable first
};

}  // namespace lockstep
