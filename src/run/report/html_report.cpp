#include "run/report/html_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <string_view>

#include "run/report/chart.h"
#include "run/report/event_numbers.h"
#include "run/report/run_axis.h"

namespace lockstep {
namespace {

constexpr std::size_t points_of_a_curve = 600;

constexpr const char* style_sheet = R"(<style>
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
.step path { stroke: var(--faint); stroke-width: 1.5; } .step circle { fill: var(--faint); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .75rem; border-bottom: 1px solid var(--line); text-align: right; }
th { color: var(--soft); font-weight: 500; }
.facts th, .facts td { text-align: left; vertical-align: top; }
.facts th { white-space: nowrap; } .facts td { overflow-wrap: anywhere; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); gap: 0 2rem; }
</style>
)";

template <class Report, class Value>
std::vector<ChartPoint> points_of(const std::vector<Report>& reports, const RunAxis& axis,
                                  const Value& value) {
  std::vector<ChartPoint> points;
  for (const Report& report : reports) points.push_back({axis.position(report), value(report)});
  return points;
}

std::string charts(const RunRecord& record) {
  const RunAxis axis(record);
  const std::string x_label = axis.label();
  const auto field = [](const std::string& name) {
    return [name](const auto& report) { return number_in(report, name); };
  };
  const auto steps = [&](const char* style, auto value) {
    return ChartSeries{"step", style, thin_out(points_of(record.steps, axis, value), points_of_a_curve)};
  };
  const auto epochs = [&](const char* label, const std::string& name, const char* style) {
    return ChartSeries{label, style, points_of(record.epochs, axis, field(name)), true};
  };
  const Task task = record.epochs.empty() ? Task::classification : record.epochs.front().test.task;
  std::vector<Chart> all;
  for (const Metric& metric : metrics_of(task)) {
    if (!metric.in_epochs) continue;
    Chart& chart = all.emplace_back(Chart{metric.title, x_label, {}});
    if (all.size() == 1) chart.series.push_back(steps("step", field("loss")));
    for (const char* part : {"train", "test", "validation"}) {
      if (!metric.is_reported(part)) continue;
      chart.series.push_back(epochs(part, fmt::format("{}_{}", part, metric.name), part));
    }
  }
  all.push_back({"Learning rate", x_label, {steps("train", field("learning_rate"))}, true});
  all.push_back({"Norm of the gradient", x_label, {steps("train", field("gradient_norm"))}, true});
  all.push_back({fmt::format("Training {}", speed_unit(samples_of(record))),
                 x_label,
                 {steps("step", images_per_second), epochs("epoch", "images_per_second", "train")},
                 true});
  std::string text = "<div class=\"charts\">\n";
  for (const Chart& chart : all) text += svg(chart);
  return text + "</div>\n";
}

/// Text of a field's value in a table; fractions have four significant digits.
template <class Value>
std::string cell(const Value& value) {
  if constexpr (std::floating_point<Value>) {
    if (!std::isfinite(value)) return "-";
    return std::abs(value) < 1000 ? fmt::format("{:#.4g}", value) : fmt::format("{:.0f}", value);
  } else if constexpr (NamedEnum<Value>) {
    return name_of(value);
  } else if constexpr (std::integral<Value>) {
    return fmt::format("{}", value);
  } else if constexpr (requires { value.has_value(); }) {
    return cell(*value);
  } else {
    return escape_html(value);
  }
}

/// Table with a row for each epoch and a column for each field that occurs in the line of any epoch.
std::string epochs_table(const RunRecord& record) {
  if (record.epochs.empty()) return {};
  const Names columns = columns_of(record.epochs);
  std::string text = "<h2>Epochs</h2>\n<div class=\"scroll\"><table>\n<tr>";
  for (const std::string& column : columns) {
    text += fmt::format("<th>{}</th>",
                        column == "images_per_second" ? speed_unit(samples_of(record)) : words(column));
  }
  text += "</tr>\n";
  for (const EpochReport& epoch : record.epochs) {
    text += "<tr>";
    visit(epoch, [&](const char* name, const auto& value, Presence presence) {
      if (std::ranges::find(columns, std::string_view(name)) == columns.end()) return;
      text += fmt::format("<td>{}</td>", has_field(value, presence) ? cell(value) : "-");
    });
    text += "</tr>\n";
  }
  return text + "</table></div>\n";
}

std::string facts_table(const std::string& title, const Facts& facts) {
  if (facts.empty()) return {};
  std::string text = fmt::format("<div><h2>{}</h2>\n<table class=\"facts\">\n", title);
  for (const auto& [name, value] : facts) {
    text += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", escape_html(name), escape_html(value));
  }
  return text + "</table></div>\n";
}

std::string summary(const RunRecord& record) {
  if (!record.end)
    return fmt::format("<p>No end was recorded: {}.</p>\n", escape_html(reason_without_end(record)));
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
             name, style_sheet) +
         summary(record) + charts(record) + epochs_table(record) + "<div class=\"columns\">\n" +
         facts_table("Options", record.options) + facts_table("Environment", record.environment) +
         "</div>\n</body>\n</html>\n";
}

}  // namespace lockstep
