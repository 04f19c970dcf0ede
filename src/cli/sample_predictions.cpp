#include "cli/sample_predictions.h"

#include <algorithm>
#include <span>
#include <utility>

#include "run/report/csv.h"

namespace lockstep {

SamplePredictions::SamplePredictions(const Dataset& dataset, Names classes, const std::string& file)
    : dataset_(dataset), classes_(std::move(classes)), probabilities_(classes_.size()) {
  if (file.empty()) return;
  file_.emplace(file);
  file_->write(std::as_bytes(std::span(std::string_view("sample,class,predicted,probability\n"))));
}

void SamplePredictions::add(const OutputBlock& block) {
  std::string lines;
  auto unreadable = block.unreadable.begin();
  for (std::uint64_t i = 0; i < block.samples; ++i) {
    const std::uint64_t sample = block.first + i;
    const auto label = static_cast<std::size_t>(dataset_.label(sample));
    lines += csv_cell(dataset_.sample_name(sample)) + "," + csv_cell(classes_.at(label)) + ",";
    if (unreadable != block.unreadable.end() && unreadable->sample == sample) {
      ++unreadable;
      lines += ",\n";
      continue;
    }
    const auto outputs = block.values.subspan(i * classes_.size(), classes_.size());
    softmax(outputs, probabilities_);
    const auto predicted = static_cast<std::size_t>(std::ranges::max_element(outputs) - outputs.begin());
    calibration_error_.add(probabilities_[predicted], predicted == label);
    lines += csv_cell(classes_[predicted]) + "," + csv_value(probabilities_[predicted]) + "\n";
  }
  if (file_) file_->write(std::as_bytes(std::span(lines)));
}

double SamplePredictions::finish() {
  if (file_) file_->commit();
  return calibration_error_.value();
}

}  // namespace lockstep
