#include "cli/model/sample_predictions.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "cli/model/target_text.h"
#include "run/report/csv.h"

namespace lockstep {
namespace {

constexpr std::string_view head_of_classes = "sample,class,predicted,probability\n";
constexpr std::string_view head_of_numbers = "sample,target,predicted\n";

}  // namespace

bool are_predictions(std::string_view text) {
  return text.starts_with(head_of_classes) || text.starts_with(head_of_numbers);
}

SamplePredictions::SamplePredictions(const Dataset& dataset, Names classes, const std::string& file)
    : dataset_(dataset), classes_(std::move(classes)), probabilities_(classes_.size()) {
  if (file.empty()) return;
  file_.emplace(file);
  const std::string_view head = has_classes() ? head_of_classes : head_of_numbers;
  file_->write(std::as_bytes(std::span(head)));
}

void SamplePredictions::add(const OutputBlock& block) {
  std::string lines;
  auto unreadable = block.unreadable.begin();
  for (std::uint64_t i = 0; i < block.samples; ++i) {
    const std::uint64_t sample = block.first + i;
    const bool is_readable = unreadable == block.unreadable.end() || unreadable->sample != sample;
    if (!is_readable) ++unreadable;
    const std::span<const float> outputs = block.values.subspan(i * classes_.size(), classes_.size());
    lines += csv_cell(dataset_.sample_name(sample)) + "," +
             cells(sample, is_readable ? outputs : std::span<const float>()) + "\n";
  }
  if (file_) file_->write(std::as_bytes(std::span(lines)));
}

std::string SamplePredictions::cells(std::uint64_t sample, std::span<const float> outputs) {
  if (has_classes()) return class_cells(sample, outputs);
  const TargetScale scale = dataset_.target_scale();
  return fmt::format("{},{}", table_number(dataset_.targets(sample)[0], scale),
                     outputs.empty() ? "" : fmt::format("{}", in_unit(outputs[0], scale)));
}

std::string SamplePredictions::class_cells(std::uint64_t sample, std::span<const float> outputs) {
  const auto label = static_cast<std::size_t>(dataset_.label(sample));
  const std::string name = csv_cell(classes_.at(label)) + ",";
  if (outputs.empty()) return name + ",";
  softmax(outputs, probabilities_);
  const auto predicted = static_cast<std::size_t>(std::ranges::max_element(outputs) - outputs.begin());
  calibration_error_.add(probabilities_[predicted], predicted == label);
  return name + csv_cell(classes_[predicted]) + "," + csv_value(probabilities_[predicted]);
}

std::optional<double> SamplePredictions::calibration_error() const {
  if (!has_classes()) return std::nullopt;
  return calibration_error_.value();
}

}  // namespace lockstep
