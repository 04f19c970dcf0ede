#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <variant>

#include "core/text/message.h"
#include "run/record_line.h"
#include "run/recorder.h"
#include "run/sinks/console_sink.h"
#include "run/sinks/log_sink.h"
#include "run/sinks/metrics_sink.h"
#include "run/sinks/progress_sink.h"
#include "run/sinks/progress_text.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"
#include "support/text.h"

namespace lockstep {
namespace {

const StepReport step{.epoch = 1,
                      .epochs = 10,
                      .step = 17,
                      .steps = 2350,
                      .samples = 256,
                      .loss = 2.3025,
                      .learning_rate = 0.2F,
                      .seconds = 0.011};
const EpochReport epoch{.epoch = 3,
                        .epochs = 10,
                        .train = {.samples = 60000, .skipped = 37, .loss = 0.6412, .accuracy = 0.759},
                        .test = {.loss = 0.612, .accuracy = 0.7712},
                        .seconds = 2.31,
                        .images_per_second = 60000 / 2.31};
const EndReport end{.digest = "xxh3:00112233445566778899aabbccddeeff"};

/// Text that `work` writes to a stream.
template <typename Work>
std::string written(Work work) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "stream";
  std::FILE* stream = std::fopen(file.c_str(), "wb");
  work(stream);
  std::fclose(stream);
  return contents(file);
}

std::string line_of(const RunEvent& event) {
  fmt::memory_buffer text;
  append_line(text, event);
  return fmt::to_string(text);
}

TEST(MetricText, HasDigitsForAnySize) {
  EXPECT_EQ(metric_text(0.0), "0.0000");
  EXPECT_EQ(metric_text(-0.25), "-0.2500");
  EXPECT_EQ(metric_text(12345.67), "12345.6700");
  EXPECT_EQ(metric_text(123456789.0), "1.2346e+08");
  EXPECT_EQ(metric_text(0.0000123), "1.23e-05");
  EXPECT_EQ(metric_text(NAN), "nan");
}

/// Lines and records name the metrics of the task, and are read back.
TEST(Metrics, OfRegressionHaveItsNames) {
  EpochReport report = epoch;
  report.train = {.task = Task::regression, .samples = 60000, .loss = 4.0, .mae = 1.5, .r2 = 0.5};
  report.test = {.task = Task::regression, .loss = 6.25, .mae = 2.0, .r2 = -0.25};
  EXPECT_EQ(epoch_line(report),
            "epoch 3/10  train loss 4.0000  train r2 0.5000  train mae 1.5000  test loss 6.2500  test r2 "
            "-0.2500  test mae 2.0000  2.31 s  25974 img/s");
  const auto json = nlohmann::json::parse(line_of(report));
  EXPECT_EQ(json["task"], "regression");
  EXPECT_EQ(json["train_mae"], 1.5);
  EXPECT_EQ(json["test_r2"], -0.25);
  EXPECT_FALSE(json.contains("test_accuracy"));
  EXPECT_FALSE(nlohmann::json::parse(line_of(epoch)).contains("task"));
}

/// The training part of an epoch has no mean average precision.
TEST(Metrics, OfSeveralLabelsHaveTheirNames) {
  EpochReport report = epoch;
  report.train = {.task = Task::multilabel, .samples = 60000, .loss = 0.5, .accuracy = 0.75};
  report.test = {.task = Task::multilabel, .loss = 0.625, .accuracy = 0.7, .mean_average_precision = 0.875};
  report.validation =
      Evaluation{.task = Task::multilabel, .loss = 0.7, .accuracy = 0.5, .mean_average_precision = 1};
  EXPECT_EQ(
      epoch_line(report),
      "epoch 3/10  train loss 0.5000  train acc 0.7500  val loss 0.7000  val mAP 1.0000  val acc 0.5000  "
      "test loss 0.6250  test mAP 0.8750  test acc 0.7000  2.31 s  25974 img/s");
  const auto json = nlohmann::json::parse(line_of(report));
  EXPECT_EQ(json["task"], "multilabel");
  EXPECT_EQ(json["test_mean_average_precision"], 0.875);
  EXPECT_EQ(json["validation_mean_average_precision"], 1.0);
  EXPECT_FALSE(json.contains("train_mean_average_precision"));
  EXPECT_EQ(report.judged().score(), 1.0);
}

TEST(ConsoleSink, Lines) {
  EXPECT_EQ(epoch_line(epoch),
            "epoch 3/10  train loss 0.6412  train acc 0.7590  test loss 0.6120  test acc 0.7712  2.31 s  "
            "25974 img/s");
  EXPECT_TRUE(epoch_line(epoch, SampleKind::row).ends_with("  25974 rows/s"));
  EpochReport validated = epoch;
  validated.validation = {.loss = 0.6, .accuracy = 0.78};
  test::expect_holds(epoch_line(validated), "0.7590  val loss 0.6000  val acc 0.7800  test loss 0.6120");
  EXPECT_EQ(end_line(end), "digest xxh3:00112233445566778899aabbccddeeff");
  EXPECT_EQ(end_line({.digest = "xxh3:00", .note = "ring: depends on the number of ranks"}),
            "digest xxh3:00 (ring: depends on the number of ranks)");
}

TEST(Metrics, OfAnEpochWhoseStepsWereAllLeftOut) {
  EpochReport report = epoch;
  report.train = {};
  report.train.loss = report.train.accuracy = NAN;
  report.seconds = report.images_per_second = 0.0;
  EXPECT_EQ(epoch_line(report),
            "epoch 3/10  train loss -  train acc -  test loss 0.6120  test acc 0.7712  0.00 s  0 img/s");
  const auto json = nlohmann::json::parse(line_of(report));
  EXPECT_TRUE(json["train_loss"].is_null());
  EXPECT_TRUE(json["train_accuracy"].is_null());
  EXPECT_EQ(json["images_per_second"], 0.0);
}

TEST(ProgressSink, Line) {
  EXPECT_EQ(progress_line(step, 25974.4, 83.2),
            "epoch 1/10  step 17/2350  25974 img/s  loss 2.3025  1:23 left");
  EXPECT_EQ(progress_line(step, 25974.4, 3723.0),
            "epoch 1/10  step 17/2350  25974 img/s  loss 2.3025  1:02:03 left");
  StepReport endless = step;
  endless.steps = 0;
  EXPECT_EQ(progress_line(endless, 100.0, 0.0), "epoch 1/10  step 17  100 img/s  loss 2.3025");
}

TEST(ProgressSink, TenTimesASecondAndClearedBeforeOtherLines) {
  const std::string text = written([](std::FILE* stream) {
    double now = 0.0;
    ProgressSink sink(stream, [&now] { return now; });
    for (int i = 0; i < 100; ++i) {
      now += 0.011;  // 1.1 seconds
      sink.on_event(step);
    }
    sink.on_event(epoch);
    sink.on_event(epoch);
  });
  EXPECT_EQ(test::count(text, "epoch 1/10"), 10);
  EXPECT_TRUE(text.ends_with("left\r\x1b[K"));
}

/// A full pipe blocks writers, like a terminal after Ctrl-S.
TEST(ProgressSink, DoesNotBlockAStoppedRunWhoseOutputNobodyReads) {
  const auto write_to_full_pipe = [] {
    int ends[2];
    if (pipe(ends) != 0 || fcntl(ends[1], F_SETFL, O_NONBLOCK) != 0) _exit(1);
    while (write(ends[1], "x", 1) == 1) {
    }
    fcntl(ends[1], F_SETFL, 0);
    give_up_blocked_output();
    double now = 0.0;
    ProgressSink sink(fdopen(ends[1], "w"), [&now] { return now; });
    now = 1.0;
    sink.on_event(step);
    _exit(0);
  };
  EXPECT_EXIT(write_to_full_pipe(), testing::ExitedWithCode(0), "");
}

TEST(ProgressSink, ShortRunShowsNothing) {
  EXPECT_EQ(written([](std::FILE* stream) {
              ProgressSink sink(stream, [] { return 0.0; });
              sink.on_event(step);
              sink.on_event(end);
            }),
            "");
}

/// Log lines of a run of `steps` steps that take one second each, with an evaluation of two seconds after
/// every tenth step.
std::vector<std::string> log_of(Period period, std::uint64_t steps, bool known = true) {
  std::vector<std::string> lines;
  double now = 100.0;
  LogSink sink(
      period, "[rank 1/4 host b] ", [&](std::string_view line) { lines.emplace_back(line); },
      [&] { return now; });
  for (std::uint64_t number = 1; number <= steps; ++number) {
    now += 1.0;
    sink.on_event(StepReport{.epoch = static_cast<int>((number + 9) / 10),
                             .epochs = static_cast<int>((steps + 9) / 10),
                             .step = number,
                             .steps = known ? steps : 0,
                             .samples = number % 10 == 0 ? 100U : 200U,
                             .loss = number % 10 == 0 ? 3.0 : 0.3,
                             .learning_rate = 0.05F,
                             .seconds = 1.0});
    if (number % 10 == 0) now += 2.0;
  }
  return lines;
}

TEST(LogSink, ALineEachPeriodAndOneAfterTenSecondsOfALongRun) {
  const std::vector<std::string> lines = log_of({.time = {60.0}}, 200);
  ASSERT_GE(lines.size(), 2U);
  // Nine steps of 200 samples and one of 100.
  EXPECT_EQ(lines[0],
            "[rank 1/4 host b] epoch 1/20  step 10/200  loss 0.4421  lr 0.05  190 img/s  3:10 left");
  EXPECT_EQ(lines[1].substr(0, 49), "[rank 1/4 host b] epoch 6/20  step 60/200  loss 0");  // after 70 s
  EXPECT_TRUE(lines[1].ends_with("  2:43 left")) << lines[1];  // 70 s for 60 steps, 140 steps left
  EXPECT_EQ(lines.size(), 4U);                                 // 240 s
}

TEST(LogSink, NormOfTheGradientWhereItIsComputed) {
  std::string text;
  LogSink sink(
      {.steps = 1}, "", [&](std::string_view line) { text = line; }, [] { return 0.0; });
  StepReport clipped = step;
  clipped.gradient_norm = 1.23456;
  sink.on_event(clipped);
  test::expect_holds(text, "  lr 0.2  gradient norm 1.235  23273 img/s");
}

TEST(LogSink, RunsShorterThanAPeriodHaveNoLines) {
  EXPECT_EQ(log_of({.time = {60.0}}, 45), Names());
  EXPECT_EQ(log_of({.time = {5.0}}, 4), Names());
  EXPECT_EQ(log_of({.time = {5.0}}, 5).size(), 1U);
  EXPECT_EQ(log_of({.time = {60.0}}, 11, false).size(), 1U);  // the length of the run is unknown
}

TEST(LogSink, PeriodsOfStepsCountTheStepsOfTheRun) {
  EXPECT_EQ(log_of({.steps = 4}, 11).size(), 2U);
  EXPECT_EQ(log_of({.steps = 1}, 3).size(), 3U);
  EXPECT_EQ(log_of({.steps = 1}, 3)[2],
            "[rank 1/4 host b] epoch 1/1  step 3/3  loss 0.3000  lr 0.05  200 img/s  0:00 left");
}

TEST(Metrics, ExactLines) {
  StepReport clipped = step;
  clipped.gradient_norm = 1.5;
  EXPECT_EQ(
      line_of(step),
      R"({"event":"step","epoch":1,"step":17,"samples":256,"loss":2.3025,"learning_rate":0.2,"seconds":0.011})"
      "\n");
  EXPECT_EQ(
      line_of(clipped),
      R"({"event":"step","epoch":1,"step":17,"samples":256,"loss":2.3025,"learning_rate":0.2,"gradient_norm":1.5,)"
      R"("seconds":0.011})"
      "\n");
  EXPECT_EQ(
      line_of(epoch),
      R"({"event":"epoch","epoch":3,"train_loss":0.6412,"train_accuracy":0.759,"test_loss":0.612,)"
      R"("test_accuracy":0.7712,"train_left_out":37,"test_left_out":0,"images_per_second":25974.026,"seconds":2.31})"
      "\n");
  EXPECT_EQ(line_of(StragglerReport{
                .step = 70, .rank = 2, .host = "b", .steps = 20, .seconds = 0.0416, .median = 0.026}),
            R"({"event":"straggler","step":70,"rank":2,"host":"b","steps":20,"seconds_per_sample":0.0416,)"
            R"("median_seconds_per_sample":0.026})"
            "\n");
  EXPECT_EQ(line_of(end), R"({"event":"end","digest":"xxh3:00112233445566778899aabbccddeeff"})"
                          "\n");
}

/// 300 samples in 1.12449507 s, the rounded time in the line, would be 266.786408 img/s.
TEST(Metrics, HaveTheSameDigitsAfterReading) {
  EpochReport report = epoch;
  report.seconds = 1.124495070327804;
  report.images_per_second = 300 / report.seconds;
  const std::string line = line_of(report);
  test::expect_holds(line, R"("images_per_second":266.786407,"seconds":1.12449507)");
  EXPECT_EQ(line_of(RecordLine(line).event().value()), line);
}

/// Expects the names of an event and its fields in docs/json.md.
template <class Report>
void expect_documented(const Report& report) {
  const std::string page = contents(LOCKSTEP_TEST_DATA "/../docs/json.md");
  const std::size_t begin = page.find("\n## metrics.jsonl\n"), end_of_part = page.find("\n## ", begin + 1);
  const std::string part = page.substr(begin, end_of_part - begin);
  EXPECT_TRUE(test::holds(part, fmt::format("`{}`", Report::event))) << Report::event;
  visit(report, [&](const char* name, const auto& /*value*/, Presence /*presence*/) {
    EXPECT_TRUE(test::holds(part, fmt::format("`{}`", name))) << Report::event << ": " << name;
  });
}

TEST(Metrics, AreDocumented) {
  []<class... Reports>(std::type_identity<std::variant<Reports...>> /*events*/) {
    (expect_documented(Reports()), ...);
  }(std::type_identity<RunEvent>());
  for (const Task task : {Task::regression, Task::multilabel}) {
    EpochReport report = epoch;
    report.train.task = report.test.task = task;
    expect_documented(report);
  }
  expect_documented(NotFiniteReport{.handling = OnNan::rollback});
}

TEST(Metrics, StepsThatAreNotFinite) {
  NotFiniteReport report{
      .epoch = 2, .step = 9, .loss = std::nan(""), .samples = {4, 1}, .handling = OnNan::skip};
  EXPECT_EQ(
      line_of(report),
      R"({"event":"not_finite","step":9,"epoch":2,"reason":"the loss is nan","samples":2,"handling":"skip"})"
      "\n");
  report.handling = OnNan::rollback;
  report.back_to_step = 6;
  EXPECT_TRUE(line_of(report).ends_with(R"("handling":"rollback","back_to_step":6})"
                                        "\n"));
}

TEST(Metrics, NumbersAreValidJson) {
  const auto json_of_step = [](double loss, float learning_rate) {
    StepReport odd = step;
    odd.loss = loss;
    odd.learning_rate = learning_rate;
    return nlohmann::json::parse(line_of(odd));
  };
  const auto json = json_of_step(1.0 / 3.0, 1e-20F);
  EXPECT_EQ(json["loss"].get<double>(), 0.333333333);
  EXPECT_EQ(static_cast<float>(json["learning_rate"].get<double>()), 1e-20F);
  for (const float value : {NAN, INFINITY, -INFINITY}) {
    EXPECT_TRUE(json_of_step(static_cast<double>(value), value)["loss"].is_null());
    EXPECT_TRUE(json_of_step(static_cast<double>(value), value)["learning_rate"].is_null());
  }
  EpochReport validated = epoch;
  validated.test.loss = NAN;
  validated.validation = {.loss = 0.6, .accuracy = 0.78};
  test::expect_holds(line_of(validated),
                     R"("validation_loss":0.6,"validation_accuracy":0.78,"validation_left_out":0,)");
  EXPECT_TRUE(nlohmann::json::parse(line_of(validated))["test_loss"].is_null());
  const EndReport quoted{.digest = "a\"b", .note = "c\nd"};
  EXPECT_EQ(nlohmann::json::parse(line_of(quoted))["note"], "c\nd");
}

TEST(MetricsSink, WritesWholeLinesAtTheEndOfAnEpoch) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "metrics.jsonl";
  MetricsSink sink(file, 1);
  sink.on_event(step);
  sink.on_event(epoch);
  EXPECT_EQ(contents(file), line_of(step) + line_of(epoch));
  sink.on_event(end);
  EXPECT_EQ(contents(file), line_of(step) + line_of(epoch) + line_of(end));
}

TEST(MetricsSink, AReturnToACheckpointCutsOffLaterSteps) {
  const TemporaryFolder folder;
  MetricsSink sink(folder / "metrics.jsonl", 1);
  StepReport report = step;
  std::string expected;
  for (report.step = 1; report.step <= 3; ++report.step) {
    sink.on_event(report);
    if (report.step <= 2) expected += line_of(report);
  }
  const NotFiniteReport back{.step = 4, .loss = INFINITY, .handling = OnNan::rollback, .back_to_step = 2};
  sink.on_event(back);
  report.step = 5;
  sink.on_event(report);
  sink.flush();
  EXPECT_EQ(contents(folder / "metrics.jsonl"), expected + line_of(back) + line_of(report));
  const NotFiniteReport again{.step = 6, .loss = INFINITY, .handling = OnNan::rollback, .back_to_step = 2};
  sink.on_event(again);
  sink.flush();
  EXPECT_EQ(contents(folder / "metrics.jsonl"), expected + line_of(back) + line_of(again));
}

TEST(MetricsSink, LogIntervalLeavesStepsOut) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "metrics.jsonl";
  MetricsSink sink(file, 10);
  for (std::uint64_t number = 1; number <= 25; ++number) {
    StepReport event = step;
    event.step = number;
    sink.on_event(event);
  }
  sink.flush();
  const std::string text = contents(file);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  test::expect_holds(text, "\"step\":20,");
}

TEST(Recorder, FlushesItsSinks) {
  const TemporaryFolder folder;
  Recorder recorder;
  recorder.add(std::make_unique<MetricsSink>(folder / "metrics.jsonl", 1));
  for (int i = 0; i < 2; ++i) recorder.on_event(step);
  recorder.flush();
  EXPECT_EQ(contents(folder / "metrics.jsonl"), line_of(step) + line_of(step));
}

/// Counts steps and fails at the second one.
class FailingSink : public Sink {
 public:
  explicit FailingSink(int& steps) : steps_(steps) {}
  void on_event(const RunEvent& event) override {
    if (std::holds_alternative<StepReport>(event) && ++steps_ == 2)
      throw Error(Category::resource, "metrics.jsonl: No space left on device");
  }

 private:
  int& steps_;
};

TEST(Recorder, ContinuesWithoutASinkThatFailsAndSaysSoInTheEnd) {
  int steps = 0;
  const std::string text = written([&](std::FILE* stream) {
    Recorder recorder;
    recorder.add(std::make_unique<FailingSink>(steps));
    recorder.add(std::make_unique<ConsoleSink>(stream, false));
    for (int i = 0; i < 3; ++i) recorder.on_event(step);
    recorder.on_event(end);
    recorder.flush();
    expect_error(Category::resource, {"metrics.jsonl: No space left on device"}, [&] { recorder.rethrow(); });
  });
  EXPECT_EQ(steps, 2);
  EXPECT_EQ(text, end_line(end) + "\n");
}

}  // namespace
}  // namespace lockstep
