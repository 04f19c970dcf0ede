#include "run/report/html_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "run/report/chart.h"
#include "run/sinks/html_sink.h"
#include "run/sinks/metrics_sink.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"
#include "support/text.h"

namespace lockstep {
namespace {

using test::holds;

/// Writes the record of a run with two epochs of four steps to `run`.
void write_run(const RunFolder& run) {
  MetricsSink sink(run.metrics(), 1);
  for (std::uint64_t step = 1; step <= 8; ++step) {
    const int epoch = step <= 4 ? 1 : 2;
    sink.on_event(StepReport{.epoch = epoch,
                             .epochs = 2,
                             .step = step,
                             .steps = 8,
                             .samples = 256,
                             .loss = 2.0 / static_cast<double>(step),
                             .learning_rate = 0.1F,
                             .gradient_norm = 1.5,
                             .seconds = 0.01});
    if (step % 4 == 0) {
      sink.on_event(EpochReport{.epoch = epoch,
                                .epochs = 2,
                                .train = {.samples = 1024, .loss = 0.5, .accuracy = 0.75},
                                .test = {.loss = 0.625, .accuracy = 0.8125},
                                .seconds = 0.04,
                                .images_per_second = 25600});
    }
  }
  sink.on_event(EndReport{.digest = "xxh3:0123", .note = "<ring>"});
}

TEST(RunRecord, ReadsWhatWasWritten) {
  const TemporaryFolder folder;
  const RunFolder run(folder.path());
  run.create("# Training\nlr = 0.1\n", R"({"cpu":"Zen","hosts":["a"]})");
  write_run(run);
  const RunRecord record = read_run_record(run);
  ASSERT_EQ(record.steps.size(), 8U);
  EXPECT_EQ(record.steps[4].epoch, 2);
  EXPECT_EQ(record.steps[4].loss, 0.4);
  EXPECT_EQ(record.steps[4].learning_rate, 0.1F);
  EXPECT_EQ(record.steps[4].gradient_norm, 1.5);
  ASSERT_EQ(record.epochs.size(), 2U);
  EXPECT_EQ(record.epochs[0].epochs, 2);
  EXPECT_EQ(record.epochs[1].test.accuracy, 0.8125);
  EXPECT_EQ(record.end.value().note, "<ring>");
  EXPECT_EQ(record.options, (Facts{{"lr", "0.1"}}));
  EXPECT_EQ(record.environment, (Facts{{"cpu", "Zen"}, {"hosts", R"(["a"])"}}));
}

/// A run that was resumed after step 1 repeats step 2, whose first line has a null loss.
TEST(RunRecord, LaterLinesReplaceRepeatedStepsAndAnIncompleteLastLineIsIgnored) {
  const TemporaryFolder folder;
  std::string text;
  for (const auto& [step, loss] : {std::pair(1, "null"), {2, "null"}, {3, "2"}, {2, "2"}, {3, "3"}}) {
    text += fmt::format(
        R"({{"event":"step","epoch":1,"step":{},"samples":2,"loss":{},"learning_rate":1,"seconds":1}})"
        "\n",
        step, loss);
  }
  folder.write("metrics.jsonl", text + R"({"event":"step","epo)");
  const RunRecord record = read_run_record(RunFolder(folder.path()));
  ASSERT_EQ(record.steps.size(), 3U);
  EXPECT_TRUE(std::isnan(record.steps[0].loss));
  EXPECT_EQ(record.steps[1].loss, 2.0);
  EXPECT_FALSE(record.end.has_value());
}

TEST(RunRecord, ErrorsNameFileAndLine) {
  const TemporaryFolder folder;
  const auto expect_bad = [&](const std::string& text, const std::vector<std::string>& parts) {
    folder.write("metrics.jsonl", text);
    expect_error(Category::data, parts, [&] { read_run_record(RunFolder(folder.path())); });
  };
  expect_error(Category::data, {"metrics.jsonl", "No such file", "run directory"},
               [&] { read_run_record(RunFolder(folder.path())); });
  expect_bad("{\"event\":\"later\"}\nnot json\n", {"metrics.jsonl", "line 2"});
  expect_bad("[]\n", {"line 1"});
  expect_bad("{\"event\":\"step\"}\n", {"line 1", "epoch"});
  expect_bad("{\"event\":\"end\",\"digest\":3}\n", {"line 1", "wrong type"});
  expect_bad(std::string((1 << 24) + 1, '[') + "\n", {"line 1", "longer than 16384 KiB"});
  folder.write("metrics.jsonl", "");
  folder.write("environment.json", "[]");
  expect_error(Category::data, {"environment.json:1: must be an object"},
               [&] { read_run_record(RunFolder(folder.path())); });
  folder.write("environment.json", std::string(250000, '['));
  expect_error(Category::data, {"environment.json:1: "}, [&] { read_run_record(RunFolder(folder.path())); });
}

TEST(HtmlReport, ARecordThatWasMovedDuringTheRunIsNoBadInput) {
  const TemporaryFolder folder;
  const RunFolder run(folder.path());
  write_run(run);
  std::filesystem::rename(run.metrics(), folder / "moved");
  expect_error(Category::resource, {"metrics.jsonl: was moved or removed during the run", "lockstep report"},
               [&] { HtmlSink(run.path()).on_event(EndReport{}); });
}

TEST(HtmlReport, HoldsCurvesAndTablesOfTheValidationSetWhereThereIsOne) {
  const TemporaryFolder folder;
  const RunFolder run(folder.path());
  run.create("lr = 0.1\n", R"({"cpu":"Zen"})");
  write_run(run);
  HtmlSink(run.path()).on_event(EndReport{});
  const std::string html = contents(run.report());
  for (const char* part : {"<!DOCTYPE html>", "Loss", "Accuracy", "Learning rate", "Norm of the gradient",
                           "Training img/s", "<td>0.8125</td>", "xxh3:0123", "<th>lr</th><td>0.1</td>",
                           "<th>cpu</th><td>Zen</td>", "&lt;ring&gt;"}) {
    test::expect_holds(html, part);
  }
  for (const char* part :
       {"<ring>", "<script", "http:", "https:", "src=", "nan", "inf", "validation accuracy"}) {
    EXPECT_FALSE(holds(html, part)) << part;
  }
  RunRecord record = read_run_record(run);
  record.epochs.back().validation = {.loss = 0.5625, .accuracy = 0.8375};
  const std::string validated = html_report(record);
  EXPECT_TRUE(holds(validated, "<th>validation accuracy</th>"));
  EXPECT_TRUE(holds(validated, "<td>0.6250</td><td>0.8125</td><td>0.5625</td><td>0.8375</td>"));
  EXPECT_TRUE(holds(validated, "<th>img/s</th>"));
  record.environment = {{"samples", "row"}};
  EXPECT_TRUE(holds(html_report(record), "<th>rows/s</th>"));
}

/// A single step is drawn as a dot, whose title shows its position on the axis.
TEST(HtmlReport, StepsAndEpochsHaveTheirPlacesOnOneAxis) {
  RunRecord record;
  record.steps = {StepReport{.epoch = 1, .step = 130, .samples = 10, .loss = 0.5, .seconds = 0.25}};
  const std::string by_steps = html_report(record);
  EXPECT_TRUE(holds(by_steps, "<title>step 130: 0.5</title>"));
  EXPECT_FALSE(holds(by_steps, ">epoch</text>"));
  record.environment = {{"steps_per_epoch", "195"}};
  const std::string by_epochs = html_report(record);
  EXPECT_TRUE(holds(by_epochs, "<title>step 0.666667: 0.5</title>"));
  EXPECT_TRUE(holds(by_epochs, ">epoch</text>"));

  record.options = {{"max-steps", "260"}};  // the run ends in the second epoch
  record.steps = {StepReport{.epoch = 2, .step = 200, .samples = 10, .loss = 0.5, .seconds = 0.25}};
  record.epochs = {EpochReport{.epoch = 1, .train = {.loss = 0.5}, .test = {}},
                   EpochReport{.epoch = 2, .train = {.loss = 0.25}, .test = {}}};
  const std::string cut = html_report(record);
  for (const char* title : {"step 1.02564: 0.5", "train 1: 0.5", "train 1.33333: 0.25"}) {
    EXPECT_TRUE(holds(cut, fmt::format("<title>{}</title>", title))) << title;
  }

  record.environment.clear();
  record.steps.front().epoch = 3;  // not completed, so the number of steps per epoch is unknown
  const std::string without_steps = html_report(record);
  EXPECT_TRUE(holds(without_steps, "<title>train 2: 0.25</title>"));
  EXPECT_FALSE(holds(without_steps, "<title>step "));
}

TEST(HtmlReport, EmptyRun) {
  RunRecord record;
  record.name = "<a & b>";
  const std::string html = html_report(record);
  EXPECT_TRUE(holds(html, "&lt;a &amp; b&gt;"));
  EXPECT_TRUE(holds(html, "in progress"));
  EXPECT_FALSE(holds(html, "<svg"));
}

TEST(Chart, EscapesHtml) {
  EXPECT_EQ(escape_html("<a b='c' d=\"&\">"), "&lt;a b=&#39;c&#39; d=&quot;&amp;&quot;&gt;");
}

/// Chart with one line through these points.
std::string line_through(const std::vector<ChartPoint>& points) {
  return svg({"t", "x", {{"s", "train", points}}});
}

TEST(Chart, PointsThatAreNotFiniteInterruptTheLine) {
  const std::string text = line_through({{0, 1}, {1, 2}, {2, NAN}, {3, 1}});
  EXPECT_EQ(std::count(text.begin(), text.end(), 'M'), 2 + std::count(text.begin(), text.end(), 'H') + 1);
  EXPECT_FALSE(holds(text, "nan"));
  EXPECT_EQ(line_through({{0, NAN}}), "");
}

TEST(Chart, ASinglePointIsADot) {
  EXPECT_TRUE(holds(line_through({{1, 5}}), "<circle"));
  EXPECT_FALSE(holds(line_through({{1, 5}, {2, 5}}), "<circle"));
}

TEST(Chart, NumbersOfTheAxes) {
  EXPECT_FALSE(holds(line_through({{1, 0}}), "nan"));
  EXPECT_FALSE(holds(line_through({{1, 5}, {2, 5}}), "nan"));
  EXPECT_FALSE(holds(line_through({{-1e-3, -0.0}, {2, 3}}), ">-0<"));
  // Means of equal numbers may differ by rounding.
  EXPECT_TRUE(holds(line_through({{1, 0.3}, {2, std::nextafter(0.3, 1.0)}}), ">0.3<"));
  for (const double tick : round_ticks(-0.2, 1.0, 5)) EXPECT_FALSE(tick == 0.0 && std::signbit(tick));
  EXPECT_EQ(round_ticks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(round_ticks(1, 10, 8), (std::vector<double>{2, 4, 6, 8, 10}));
  EXPECT_EQ(round_ticks(0, 500, 5), (std::vector<double>{0, 100, 200, 300, 400, 500}));
}

TEST(Chart, ThinOutKeepsMeans) {
  std::vector<ChartPoint> points;
  for (int i = 0; i < 100; ++i) points.push_back({i * 1.0, i % 2 * 1.0});
  const auto thin = thin_out(points, 10);
  ASSERT_EQ(thin.size(), 10U);
  EXPECT_NEAR(thin[0].x, 4.5, 1e-12);
  EXPECT_NEAR(thin[9].y, 0.5, 1e-12);
  EXPECT_EQ(thin_out(points, 1000).size(), 100U);
}

}  // namespace
}  // namespace lockstep
