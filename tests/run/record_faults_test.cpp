// The record of a run on failing disks.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "core/files/folder.h"
#include "core/files/line_writer.h"
#include "core/text/message.h"
#include "run/recorder.h"
#include "run/run_folder.h"
#include "run/run_record.h"
#include "run/sinks/html_sink.h"
#include "run/sinks/metrics_sink.h"
#include "support/expect_error.h"
#include "support/test_files.h"

namespace lockstep {
namespace {

const RunFolder folder("/runs/a");

using Check = std::function<void(const std::string& failed, const std::string& error)>;

/// Calls fail_everywhere on a disk that `prepare` fills; errors must begin with a path of the run.
void fail_at_every_call(int reason, const std::function<void()>& prepare, const std::function<void()>& work,
                        const Check& check) {
  fail_everywhere(
      reason, [&](TestFiles&) { prepare(); }, work,
      [&](TestFiles&, const std::string& failed, const std::string& error) {
        EXPECT_TRUE(error.empty() || error.starts_with("/")) << error;
        check(failed, error);
      });
}

/// Whether a file can be written although this call fails: the file is already synced when it is closed, and
/// leftovers may stay.
bool is_harmless(const std::string& call) {
  return call.starts_with("close") || call.starts_with("unlink") || call.starts_with("list") ||
         call.starts_with("lock") || (call.starts_with("stat") && call.ends_with(".tmp"));
}

TEST(RecordFaults, ARunDirectoryIsCompleteOrRefused) {
  fail_at_every_call(
      ENOSPC, [] {}, [] { folder.create("lr = 0.1\n", "{}"); },
      [](const std::string& failed, const std::string& message) {
        if (!message.empty()) return;
        EXPECT_TRUE(is_harmless(failed)) << failed;
        EXPECT_EQ(read_text(folder.options(), 100), "lr = 0.1\n");
        EXPECT_EQ(read_text(folder.environment(), 100), "{}");
      });
}

void record(std::uint64_t first_step, std::uint64_t last_step) {
  MetricsSink sink(folder.metrics(), 1);
  for (std::uint64_t step = first_step; step <= last_step; ++step) {
    sink.on_event(StepReport{.epoch = 1, .step = step, .samples = 2, .loss = 0.5, .learning_rate = 0.1F});
    sink.flush();
  }
}

TEST(RecordFaults, ARunDirectoryWithARunIsNeverTakenForAnEmptyOne) {
  fail_at_every_call(
      EIO,
      [] {
        folder.create("lr = 0.1\n", "{}");
        record(1, 3);
      },
      [] {
        try {
          folder.create("lr = 0.5\n", "{}");
          FAIL() << "a new run began in it";
        } catch (const Error& error) {
          if (error.category() != Category::usage) throw;
        }
      },
      [](const std::string&, const std::string&) {
        EXPECT_EQ(read_text(folder.options(), 100), "lr = 0.1\n");
        EXPECT_EQ(read_run_record(folder).steps.size(), 3U);
      });
}

TEST(RecordFaults, LinesBeforeTheFailureStay) {
  fail_at_every_call(
      ENOSPC,
      [] {
        folder.create("", "{}");
        record(1, 3);
      },
      [] { record(4, 9); },
      [](const std::string& failed, const std::string& message) {
        EXPECT_TRUE(!message.empty() || failed.starts_with("close") || failed.starts_with("write"));
        const std::size_t steps = read_run_record(folder).steps.size();
        EXPECT_GE(steps, 3U);
        EXPECT_TRUE(!message.empty() || steps == 9U);
        record(10, 10);  // after there is room again
        EXPECT_EQ(read_run_record(folder).steps.back().step, 10U);
      });
}

/// Lines of metrics.jsonl after cut_record, which must return `remark` (empty: no remark).
std::string cut(const std::string& lines, std::uint64_t step, int epoch, const std::string& remark = {},
                std::uint64_t passed = 0) {
  TestFiles disk;
  disk.mkdir("/runs");
  disk.mkdir(folder.path());
  disk.put(folder.metrics(), lines);
  const ScopedFiles replaced(disk);
  std::vector<std::string> expected;
  if (!remark.empty()) expected.push_back(folder.metrics().string() + ": " + remark);
  EXPECT_EQ(folder.cut_record(step, epoch, passed), expected);
  return disk.contents(folder.metrics());
}

const std::string step_1 = "{\"event\":\"step\",\"step\":1}\n";
const std::string step_2 = "{\"event\":\"step\",\"step\":2}\n";

TEST(RecordFaults, AContinuedRunKeepsTheLinesUntilItsCheckpoint) {
  const std::string epoch_1 = "{\"event\":\"epoch\",\"epoch\":1}\n", end = "{\"event\":\"end\"}\n";
  EXPECT_EQ(cut(step_1 + step_2 + epoch_1 + end, 2, 1), step_1 + step_2 + epoch_1);
  EXPECT_EQ(cut(step_1 + step_2 + epoch_1 + end, 2, 0), step_1 + step_2);
  EXPECT_EQ(cut(step_1 + step_2, 1, 0), step_1);
  EXPECT_EQ(cut(step_1 + step_2, 5, 0,
                "ends at step 2, but the checkpoint is of step 5: the record lacks the steps between them"),
            step_1 + step_2);
  EXPECT_EQ(cut(step_1 + "incomplete", 1, 0), step_1);
  const std::string checkpoint = "{\"event\":\"checkpoint\",\"step\":1}\n";
  EXPECT_EQ(cut(step_1 + step_2 + checkpoint, 1, 0), step_1 + checkpoint) << "written beside step 2";
}

/// A run that rolled back from step 7 to its beginning has a checkpoint at the end of an epoch before step 7.
TEST(RecordFaults, AContinuedRunKeepsTheReturnsBeforeItsCheckpoint) {
  const auto not_finite = [](int step, const std::string& handling) {
    return R"({"event":"not_finite","step":)" + std::to_string(step) + R"(,"handling":")" + handling +
           "\"}\n";
  };
  const std::string returns = not_finite(4, "rollback") + not_finite(7, "rollback");
  const std::string epoch_1 = "{\"event\":\"epoch\",\"epoch\":1}\n";
  const std::string later = not_finite(9, "rollback");
  EXPECT_EQ(cut(returns + epoch_1 + step_2 + later, 1, 1, {}, 7), returns + epoch_1);
  EXPECT_EQ(cut(step_1 + returns, 1, 0), step_1) << "the run makes these steps again";
  EXPECT_EQ(cut(step_1 + not_finite(1, "skip") + not_finite(1, "stop"), 1, 0),
            step_1 + not_finite(1, "skip"));
}

TEST(RecordFaults, LinesThatACrashHasDamagedAreLeftOut) {
  EXPECT_EQ(
      cut(step_1 + std::string(5, '\0') + "\n[]\n" + step_2, 2, 0, "damaged lines that were left out: 2"),
      step_1 + step_2);
  EXPECT_EQ(cut(step_1 + "[]\n" + step_2, 1, 0), step_1) << "probably of later steps";
}

/// The lines are synced before a checkpoint is written.
TEST(RecordFaults, LinesThatWereSyncedSurviveACrash) {
  TestFiles disk;
  disk.mkdir("/runs");
  disk.mkdir(folder.path());
  disk.sync_all();
  const ScopedFiles replaced(disk);
  LineWriter(folder.metrics()).append("line\n");
  ASSERT_TRUE(sync_file(folder.metrics()));
  EXPECT_EQ(disk.crash(0)->contents(folder.metrics()), "line\n");
  EXPECT_FALSE(sync_file(folder.path() / "missing"));
}

/// The new folder will hold the checkpoints.
TEST(RecordFaults, ANewRunDirectorySurvivesACrash) {
  TestFiles disk;
  std::filesystem::path run;
  crash_everywhere(
      disk, 20,
      [&] {
        const auto path = new_run_folder("/runs", "lenet");
        RunFolder(path).create("", "{}");
        run = path;
      },
      [&] { EXPECT_TRUE(run.empty() || file_kind(RunFolder(run).checkpoints()) == FileKind::folder); });
  EXPECT_EQ(run, "/runs/lenet-1");
}

TEST(RecordFaults, TheRunContinuesAndSaysWhatFailed) {
  fail_at_every_call(
      EIO, [] { folder.create("", "{}"); },
      [] {
        Recorder recorder;
        recorder.add(std::make_unique<MetricsSink>(folder.metrics(), 1));
        recorder.add(std::make_unique<HtmlSink>(folder.path()));
        recorder.on_event(StepReport{.epoch = 1, .step = 1, .samples = 2, .loss = 0.5});
        recorder.on_event(EpochReport{.epoch = 1, .train = {.loss = 0.5}, .test = {.loss = 0.5}});
        recorder.on_event(EndReport{.digest = "xxh3:0"});
        recorder.rethrow();
      },
      [](const std::string& failed, const std::string& message) {
        if (!message.empty()) return;
        EXPECT_TRUE(is_harmless(failed) || failed == "write /runs/a/metrics.jsonl") << failed;
        EXPECT_FALSE(read_text(folder.report(), 100).empty());
        EXPECT_TRUE(read_run_record(folder).end);
      });
}

/// The record of a run of 9 steps whose disk is full during steps `first` to `last`. If it `goes_back`, the
/// run rolls back from step 5 to step 2, and from step 8 to step 6.
std::string record_of_run(std::uint64_t first, std::uint64_t last, bool goes_back) {
  TestFiles disk;
  bool fails = false;
  disk.fail([&](const FileCall& call) { return fails && call.name == "write" ? ENOSPC : 0; });
  const ScopedFiles replaced(disk);
  folder.create("", "{}");
  Recorder recorder;
  recorder.add(std::make_unique<MetricsSink>(folder.metrics(), 1));
  for (std::uint64_t step = 1; step <= 9; ++step) {
    fails = step >= first && step <= last;
    if (goes_back && (step == 5 || step == 8)) {
      recorder.on_event(NotFiniteReport{
          .step = step, .loss = INFINITY, .handling = OnNan::rollback, .back_to_step = step == 5 ? 2U : 6U});
    } else {
      recorder.on_event(StepReport{.step = step, .samples = 2, .loss = 0.5});
    }
    recorder.flush();
  }
  recorder.on_event(EndReport{.digest = "xxh3:0"});
  recorder.rethrow();
  EXPECT_EQ(read_run_record(folder).steps.size(), goes_back ? 4U : 9U);  // steps 1, 2, 6 and 9
  return read_text(folder.metrics(), 10000);
}

TEST(RecordFaults, LinesWaitInMemoryWhileTheDiskIsFull) {
  EXPECT_EQ(record_of_run(3, 6, false), record_of_run(1, 0, false));
}

TEST(RecordFaults, CutsOfReturnsToACheckpointWaitWhileTheDiskIsFull) {
  for (const auto& [first, last] : {std::pair(5U, 5U), {3U, 6U}, {3U, 8U}, {8U, 8U}}) {
    EXPECT_EQ(record_of_run(first, last, true), record_of_run(1, 0, true)) << first << " to " << last;
  }
}

TEST(RecordFaults, ARecordIsReadAsAWholeOrNotAtAll) {
  fail_at_every_call(
      EIO,
      [] {
        folder.create("lr = 0.1\n", R"({"cpu":"Zen"})");
        record(1, 3);
      },
      [] {
        const RunRecord found = read_run_record(folder);
        EXPECT_EQ(found.steps.size(), 3U);
        EXPECT_EQ(found.options.size(), 1U);
        EXPECT_EQ(found.environment.size(), 1U);
      },
      [](const std::string& failed, const std::string& message) {
        EXPECT_TRUE(!message.empty() || failed.starts_with("close"));
      });
}

}  // namespace
}  // namespace lockstep
