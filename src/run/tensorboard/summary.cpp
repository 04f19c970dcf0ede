#include "run/tensorboard/summary.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "core/json/json.h"
#include "core/text/printable.h"
#include "run/report/class_metrics.h"
#include "run/report/event_numbers.h"

namespace lockstep::tensorboard {
namespace {

/// `text` for a cell of a Markdown table. TensorBoard reads only UTF-8, so other bytes are replaced.
std::string cell(const std::string& text) {
  const std::string dumped = json_text(JsonValue(text));
  std::string result;
  for (const char c : without_control_characters(JsonValue::parse(dumped).get<std::string>())) {
    if (std::string_view("\\`*_{}[]<>|#~").find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

/// Scalars for the numbers of an event, except the epoch and `axis`, the x coordinate of the chart.
template <class Report>
Summary numbers_of(const Report& report, std::string_view axis) {
  Summary summary;
  for_each_number(report, [&](std::string_view name, auto number) {
    if (name == axis) summary.step = static_cast<std::int64_t>(number);
    if (name == axis || name == "epoch") return;
    summary.values.push_back({fmt::format("{}/{}", Report::event, name), static_cast<float>(number)});
  });
  return summary;
}

/// The training loss of an epoch in which no step counts is NaN; its chart gets no point.
Summary summary_of_epoch(const EpochReport& epoch) {
  Summary summary = numbers_of(epoch, "epoch");
  std::erase_if(summary.values,
                [](const Value& value) { return std::isnan(std::get<float>(value.content)); });
  return summary;
}

Summary summary_of_step(const StepReport& step) {
  Summary summary = numbers_of(step, "step");
  summary.values.push_back({"step/images_per_second", static_cast<float>(images_per_second(step))});
  return summary;
}

std::string class_name(const ConfusionReport& report, std::size_t number) {
  return number < report.classes.size() ? report.classes[number] : std::to_string(number);
}

/// The class that samples of class `c` are most often mistaken for, with their number; "-" if none are.
std::string worst_mistake(const ConfusionReport& report, std::size_t c, std::size_t classes) {
  const std::uint64_t* row = report.samples.data() + c * classes;
  std::size_t worst = c;
  for (std::size_t other = 0; other < classes; ++other) {
    if (other != c && row[other] > (worst == c ? 0 : row[worst])) worst = other;
  }
  return worst == c ? "-" : fmt::format("{} ({})", cell(class_name(report, worst)), row[worst]);
}

std::string class_table(const ConfusionReport& report) {
  const std::vector<ClassCounts> counts = counts_of(report.samples);
  std::string text =
      "| class | samples | precision | recall | F1 | most often mistaken for |\n"
      "|---|---:|---:|---:|---:|---|\n";
  for (std::size_t c = 0; c < counts.size(); ++c) {
    const ClassMetrics metrics = counts[c].metrics();
    text += fmt::format("| {} | {} | {:.4f} | {:.4f} | {:.4f} | {} |\n", cell(class_name(report, c)),
                        metrics.samples, metrics.precision, metrics.recall, metrics.f1,
                        worst_mistake(report, c, counts.size()));
  }
  return text;
}

Summary summary_of_confusion(const ConfusionReport& report) {
  Summary summary{.step = report.epoch};
  if (report.samples.empty() ||
      classes_of(report.samples) * classes_of(report.samples) != report.samples.size())
    return summary;
  const ClassMetrics macro = macro_average(counts_of(report.samples));
  summary.values = {{"confusion/matrix", confusion_picture(report.samples)},
                    {"confusion/classes", Markdown{class_table(report)}},
                    {"epoch/macro_precision", static_cast<float>(macro.precision)},
                    {"epoch/macro_recall", static_cast<float>(macro.recall)},
                    {"epoch/macro_f1", static_cast<float>(macro.f1)}};
  return summary;
}

}  // namespace

Summary summary_of(const RunEvent& event) {
  Summary summary;
  observer([&](const StepReport& step) { summary = summary_of_step(step); },
           [&](const EpochReport& epoch) { summary = summary_of_epoch(epoch); },
           [&](const ConfusionReport& confusion) { summary = summary_of_confusion(confusion); },
           [&](const EndReport& end) {
             summary.values = {
                 {"digest", Markdown{cell(end.digest + (end.note.empty() ? "" : " (" + end.note + ")"))}}};
           })(event);
  return summary;
}

Summary summary_of(const std::string& tag, const Facts& facts) {
  if (facts.empty()) return {};
  std::string text = "| | |\n|---|---|\n";
  for (const auto& [name, value] : facts) text += fmt::format("| {} | {} |\n", cell(name), cell(value));
  return {.values = {{tag, Markdown{text}}}};
}

}  // namespace lockstep::tensorboard
