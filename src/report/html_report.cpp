#include "report/html_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/chart.h"

namespace lockstep {
namespace {

constexpr std::size_t points_of_a_curve = 600;

constexpr const char* style = R"(<style>
:root { color-scheme: light dark; --ink: #1f2328; --soft: #656d76; --line: #d8dee4; --paper: #fff;
  --train: #0969da; --test: #bc4c00; --validation: #1a7f37; --faint: #9cc3f0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9198a1; --line: #30363d;
  --paper: #0d1117; --train: #4493f8; --test: #f0883e; --validation: #3fb950; --faint: #28507f; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 1320px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
p { color: var(--soft); margin: .25rem 0; overflow-wrap: anywhere; }
code { font-family: ui-monospace, monospace; font-size: .9em; color: var(--ink); }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); gap: 1rem;
  margin-top: 1.5rem; }
svg { width: 100%; height: auto; font-size: 13px; fill: var(--soft); }
svg .title { font-size: 15px; font-weight: 600; fill: var(--ink); }
svg .y { text-anchor: end; } svg .x { text-anchor: middle; }
svg path { fill: none; stroke-width: 2; stroke-linejoin: round; } svg .grid { stroke: var(--line); stroke-width: 1; }
.train path { stroke: var(--train); } .train circle { fill: var(--train); }
.validation path { stroke: var(--validation); } .validation circle { fill: var(--validation); }
.test path { stroke: var(--test); } .test circle { fill: var(--test); }
.step path { stroke: var(--faint); stroke-width: 1.5; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .75rem; border-bottom: 1px solid var(--line); text-align: right; }
th { color: var(--soft); font-weight: 500; }
.facts th, .facts td { text-align: left; vertical-align: top; overflow-wrap: anywhere; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); gap: 0 2rem; }
</style>
)";

/// Steps per epoch, from the last recorded step of the completed epochs; 0: unknown.
double steps_per_epoch(const RunRecord& record) {
  double result = 0.0;
  for (const StepReport& step : record.steps) {
    const bool completed = !record.epochs.empty() && step.epoch <= record.epochs.back().epoch;
    if (completed) result = std::max(result, static_cast<double>(step.step) / step.epoch);
  }
  return result;
}

template <typename Value>
std::vector<ChartPoint> step_points(const RunRecord& record, Value value) {
  const double per_epoch = steps_per_epoch(record);
  std::vector<ChartPoint> points;
  for (const StepReport& step : record.steps) {
    const auto number = static_cast<double>(step.step);
    points.push_back({per_epoch > 0.0 ? number / per_epoch : number, value(step)});
  }
  return thin_out(points, points_of_a_curve);
}

template <typename Value>
std::vector<ChartPoint> epoch_points(const RunRecord& record, Value value) {
  std::vector<ChartPoint> points;
  for (const EpochReport& epoch : record.epochs) {
    points.push_back({static_cast<double>(epoch.epoch), value(epoch)});
  }
  return points;
}

double rate(const StepReport& step) { return static_cast<double>(step.samples) / step.seconds; }

bool has_validation(const RunRecord& record) {
  return std::ranges::any_of(record.epochs,
                             [](const EpochReport& epoch) { return epoch.validation.has_value(); });
}

std::string charts(const RunRecord& record) {
  const std::string x_label = record.epochs.empty() ? "step" : "epoch";
  const auto test_loss = [](const EpochReport& epoch) { return epoch.test.loss; };
  const auto test_accuracy = [](const EpochReport& epoch) { return epoch.test.accuracy; };
  const auto loss_of_step = [](const StepReport& step) { return step.loss; };
  const auto train_loss = [](const EpochReport& epoch) { return epoch.train.loss; };
  const auto train_accuracy = [](const EpochReport& epoch) { return epoch.train.accuracy; };
  const auto speed = [](const EpochReport& epoch) { return epoch.images_per_second(); };
  const auto validation_loss = [](const EpochReport& epoch) {
    return epoch.validation ? epoch.validation->loss : NAN;
  };
  const auto validation_accuracy = [](const EpochReport& epoch) {
    return epoch.validation ? epoch.validation->accuracy : NAN;
  };
  Chart loss{"Loss",
             x_label,
             {{"step", "step", step_points(record, loss_of_step)},
              {"train", "train", epoch_points(record, train_loss), true},
              {"test", "test", epoch_points(record, test_loss), true}}};
  Chart accuracy{"Accuracy",
                 x_label,
                 {{"train", "train", epoch_points(record, train_accuracy), true},
                  {"test", "test", epoch_points(record, test_accuracy), true}}};
  if (has_validation(record)) {
    loss.series.push_back({"validation", "validation", epoch_points(record, validation_loss), true});
    accuracy.series.push_back({"validation", "validation", epoch_points(record, validation_accuracy), true});
  }
  const Chart throughput{
      "Training images/s",
      x_label,
      {{"step", "step", step_points(record, rate)}, {"epoch", "train", epoch_points(record, speed), true}},
      true};
  const auto rate_of_step = [](const StepReport& step) { return static_cast<double>(step.learning_rate); };
  const Chart learning_rate{
      "Learning rate", x_label, {{"step", "train", step_points(record, rate_of_step)}}, true};
  return "<div class=\"charts\">\n" + svg(loss) + svg(accuracy) + svg(learning_rate) + svg(throughput) +
         "</div>\n";
}

std::string cell(double value, int digits) {
  return std::isnan(value) ? "<td>-</td>" : fmt::format("<td>{:.{}f}</td>", value, digits);
}

std::string cells(const Evaluation& evaluation) {
  return cell(evaluation.loss, 4) + cell(evaluation.accuracy, 4);
}

std::string epoch_table(const RunRecord& record) {
  if (record.epochs.empty()) return {};
  const bool validation = has_validation(record);
  std::string text = fmt::format(
      "<h2>Epochs</h2>\n<div class=\"scroll\"><table>\n<tr><th>epoch</th><th>train loss</th>"
      "<th>train accuracy</th>{}<th>test loss</th><th>test "
      "accuracy</th><th>seconds</th><th>images/s</th></tr>\n",
      validation ? "<th>validation loss</th><th>validation accuracy</th>" : "");
  for (const EpochReport& epoch : record.epochs) {
    const Evaluation none{.loss = NAN, .accuracy = NAN};
    text += fmt::format("<tr><td>{}</td>{}{}{}{}{}</tr>\n", epoch.epoch, cells(epoch.train),
                        validation ? cells(epoch.validation.value_or(none)) : "", cells(epoch.test),
                        cell(epoch.seconds, 2), cell(epoch.images_per_second(), 0));
  }
  return text + "</table></div>\n";
}

std::string facts_table(const std::string& title, const RunRecord::Facts& facts) {
  if (facts.empty()) return {};
  std::string text = fmt::format("<div><h2>{}</h2>\n<table class=\"facts\">\n", title);
  for (const auto& [name, value] : facts) {
    text += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", escape_html(name), escape_html(value));
  }
  return text + "</table></div>\n";
}

std::string summary(const RunRecord& record) {
  if (!record.end) return "<p>No end was recorded: the run is still going on, or was interrupted.</p>\n";
  std::string text = fmt::format("<p>digest <code>{}</code>", escape_html(record.end->digest));
  if (!record.end->note.empty()) text += " (" + escape_html(record.end->note) + ")";
  return text + "</p>\n";
}

}  // namespace

std::string html_report(const RunRecord& record) {
  const std::string name = escape_html(record.name);
  return fmt::format(
             "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
             "<title>{0} - lockstep</title>\n{1}</head>\n<body>\n<h1>{0}</h1>\n",
             name, style) +
         summary(record) + charts(record) + epoch_table(record) + "<div class=\"columns\">\n" +
         facts_table("Options", record.options) + facts_table("Environment", record.environment) +
         "</div>\n</body>\n</html>\n";
}

}  // namespace lockstep
