#include "run/tensorboard/event_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "core/files/folder.h"
#include "run/recorder.h"
#include "run/sinks/metrics_sink.h"
#include "run/sinks/tensorboard_sink.h"
#include "run/tensorboard/record_frame.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"
#include "support/test_files.h"
#include "support/text.h"

namespace lockstep::tensorboard {
namespace {

/// Messages of an event file's records, whose lengths and CRCs are checked. Stops at a truncated record.
test::Words messages_of(const std::string& bytes) {
  constexpr std::size_t head = 12, tail = 4;
  test::Words messages;
  for (std::size_t at = 0; at + head <= bytes.size();) {
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data() + at, sizeof length);
    if (length > bytes.size() || at + head + length + tail > bytes.size()) break;
    messages.push_back(bytes.substr(at + head, length));
    std::string frame;
    append_frame(frame, messages.back());
    EXPECT_EQ(bytes.substr(at, frame.size()), frame);
    at += frame.size();
  }
  return messages;
}

/// Messages without their first field, the wall-clock time: a byte and a double.
test::Words without_times(test::Words messages) {
  for (std::string& message : messages) {
    EXPECT_EQ(message.substr(0, 1), "\x09");
    message.erase(0, 9);
  }
  return messages;
}

double time_of(const std::string& message) {
  double time = 0.0;
  std::memcpy(&time, message.data() + 1, sizeof time);
  return time;
}

/// Messages of the last event file in `folder`; the earlier files must be empty.
test::Words messages_in(const std::filesystem::path& folder) {
  const std::vector<std::string> names = list_folder(folder);
  for (std::size_t i = 0; i + 1 < names.size(); ++i) {
    EXPECT_EQ(std::filesystem::file_size(folder / names[i]), 0U) << names[i];
  }
  return messages_of(contents(folder / names.at(names.size() - 1)));
}

StepReport step_report(std::uint64_t step) {
  return {.epoch = static_cast<int>((step + 3) / 4),
          .step = step,
          .samples = 8,
          .loss = 2.0 / static_cast<double>(step),
          .learning_rate = 0.25F,
          .seconds = 0.5};
}

EpochReport epoch_report(int epoch) {
  return {.epoch = epoch,
          .train = {.samples = 32, .loss = 0.5, .accuracy = 0.75},
          .test = {.loss = 0.625, .accuracy = 0.8125},
          .seconds = 2.0};
}

/// Reports the steps from `first` to `last`, and each epoch of four steps that ends among them.
void report_steps(Recorder& recorder, std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t step = first; step <= last; ++step) {
    recorder.on_event(step_report(step));
    if (step % 4 != 0) continue;
    const int epoch = static_cast<int>(step / 4);
    recorder.on_event(ConfusionReport{.epoch = epoch, .classes = {"a", "b|"}, .samples = {3, 1, 2, 4}});
    recorder.on_event(epoch_report(epoch));
  }
}

Recorder recorder_of(const RunFolder& run, std::uint64_t log_interval = 1) {
  Recorder recorder;
  recorder.add(std::make_unique<MetricsSink>(run.metrics(), log_interval));
  recorder.add(std::make_unique<TensorBoardSink>(run.path(), log_interval));
  return recorder;
}

/// Expects that the event file of a run has exactly the events of the run's record, in the same order.
void expect_equals_record(const RunFolder& run) {
  const TemporaryFolder other;
  const EventFile file(other / "logs", read_run_record(run), 1000.0);
  EXPECT_EQ(without_times(messages_in(run.tensorboard())), without_times(messages_in(other / "logs")));
}

TEST(EventFile, HasTheEventsOfTheRecord) {
  for (const std::uint64_t log_interval : {1U, 3U}) {
    const TemporaryFolder folder;
    const RunFolder run(folder / "run");
    run.create("lr = 0.25\n", "{}");
    Recorder recorder = recorder_of(run, log_interval);
    report_steps(recorder, 1, 8);
    recorder.on_event(EndReport{.digest = "xxh3:01"});
    recorder.rethrow();
    expect_equals_record(run);
    // Two records for the start, options, steps, two for each epoch, end.
    EXPECT_EQ(messages_in(run.tensorboard()).size(), 3 + 8 / log_interval + 4 + 1);
  }
}

TEST(EventFile, ContinuesAfterAKillWithoutGapsAndDuplicates) {
  const TemporaryFolder folder;
  const RunFolder run(folder / "run");
  run.create("", "{}");
  {
    Recorder killed = recorder_of(run);
    report_steps(killed, 1, 7);
    killed.flush();
  }
  const std::string before = list_folder(run.tensorboard()).at(0);
  std::filesystem::resize_file(run.tensorboard() / before,
                               std::filesystem::file_size(run.tensorboard() / before) - 5);
  folder.write("run/tensorboard/events.out.tfevents.1.other", "of another program");
  run.cut_record(6, 1);
  {
    Recorder resumed = recorder_of(run);
    report_steps(resumed, 7, 8);
    resumed.rethrow();
  }
  const std::vector<std::string> names = list_folder(run.tensorboard());
  ASSERT_EQ(names.size(), 3U);
  EXPECT_EQ(names[0], "events.out.tfevents.1.other");
  EXPECT_EQ(contents(run.tensorboard() / names[0]), "of another program");
  EXPECT_EQ(names[1], before) << "a TensorBoard that reads it looks for the next one";
  EXPECT_GT(names[2], before) << "TensorBoard reads the files of a folder in this order";
  std::filesystem::remove(run.tensorboard() / names[0]);
  expect_equals_record(run);
  EXPECT_EQ(messages_in(run.tensorboard()).size(), 2U + 8 + 4);
}

TEST(EventFile, ContinuesAfterARollback) {
  const TemporaryFolder folder;
  const RunFolder run(folder / "run");
  run.create("", "{}");
  Recorder recorder = recorder_of(run);
  report_steps(recorder, 1, 7);
  recorder.on_event(NotFiniteReport{.epoch = 2,
                                    .step = 8,
                                    .loss = std::nan(""),
                                    .handling = OnNan::rollback,
                                    .back_to_step = 4,
                                    .back_to_epoch = 1});
  report_steps(recorder, 9, 12);
  recorder.rethrow();
  expect_equals_record(run);
  EXPECT_EQ(messages_in(run.tensorboard()).size(), 2U + 8 + 4);
}

TEST(EventFile, OldEmptyFilesAreRemoved) {
  const TemporaryFolder folder;
  for (int i = 0; i < 110; ++i) EventFile(folder / "logs", {}, 1000.0);
  EXPECT_EQ(list_folder(folder / "logs").size(), 101U);
  EXPECT_EQ(messages_in(folder / "logs").size(), 2U);
}

TEST(EventFile, TimesAreCountedBackFromTheLastChange) {
  const TemporaryFolder folder;
  const RunFolder run(folder / "run");
  run.create("", "{}");
  {
    Recorder recorder;
    recorder.add(std::make_unique<MetricsSink>(run.metrics(), 2));
    report_steps(recorder, 1, 8);
  }
  const EventFile file(folder / "logs", read_run_record(run), 1000.0);
  std::vector<double> times;
  for (const std::string& message : messages_in(folder / "logs")) times.push_back(time_of(message));
  // Two records of the start, steps 2 and 4, two events of the first epoch; 2 s per epoch, 0.5 s per step.
  const std::vector<double> expected{996.0, 996.0, 996.5, 997.5, 998.0, 998.0};
  ASSERT_GE(times.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(times[i], expected[i]) << i;
  EXPECT_EQ(times.back(), 1000.0);
}

/// Whichever call fails, the run continues, and at the end the file is whole or the failure is reported.
TEST(EventFile, IsWholeInTheEndOrTheRunSaysSo) {
  const RunFolder run("/runs/a");
  fail_everywhere(
      ENOSPC, [&](TestFiles&) { run.create("", "{}"); },
      [&] {
        Recorder recorder = recorder_of(run);
        report_steps(recorder, 1, 8);
        recorder.on_event(EndReport{.digest = "xxh3:01"});
        recorder.rethrow();
      },
      [&](TestFiles&, const std::string& failed, const std::string& error) {
        if (!error.empty()) return;
        const std::vector<std::string> names = list_folder(run.tensorboard());
        ASSERT_FALSE(names.empty()) << failed;
        const std::string bytes = read_text(run.tensorboard() / names.back(), 1 << 20);
        EXPECT_EQ(messages_of(bytes).size(), 2U + 8 + 4 + 1) << failed;
      });
}

}  // namespace
}  // namespace lockstep::tensorboard
