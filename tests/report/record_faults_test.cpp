// The record of a run on disks that fail.
#include <gtest/gtest.h>

#include "core/files/folder.h"
#include "core/files/line_writer.h"
#include "core/message.h"
#include "report/html_report.h"
#include "report/recorder.h"
#include "report/run_directory.h"
#include "report/run_record.h"
#include "report/sinks/html_sink.h"
#include "report/sinks/metrics_sink.h"
#include "support/crashes.h"
#include "support/expect_error.h"
#include "support/failing_files.h"
#include "support/simulated_files.h"

namespace lockstep {
namespace {

const RunDirectory directory{"/runs/a"};

/// Calls work(disk) with files() replaced by a disk whose call `number` fails, for each of its calls, and
/// then look(disk, error) with `error` the message that it threw, empty: none.
template <class Prepare, class Work, class Look>
void fail_at_every_call(int reason, const Prepare& prepare, const Work& work, const Look& look) {
  for (std::uint64_t number = 1, calls = 1; number <= calls; ++number) {
    SimulatedFiles disk;
    {
      const ScopedFiles replaced(disk);
      prepare();
    }
    std::string failed;
    FailingFiles failing(disk, [&](const FileCall& call) {
      if (call.number == number) failed = call.name + " " + call.path.string();
      return call.number == number ? reason : 0;
    });
    std::string message;
    {
      const ScopedFiles replaced(failing);
      try {
        work();
      } catch (const Error& error) {
        message = error.what();
      }
    }
    calls = failing.calls();
    SCOPED_TRACE("fault in " + failed + (message.empty() ? "" : ", error " + message));
    const ScopedFiles replaced(disk);
    look(message, failed);
  }
}

bool names(const std::string& message, const std::string& reason) {
  return message.starts_with("/runs") && message.ends_with(reason);
}

TEST(RecordFaults, ARunDirectoryIsCompleteOrRefused) {
  fail_at_every_call(
      ENOSPC, [] {}, [] { create_run_directory(directory.path, "lr = 0.1\n", "{}"); },
      [](const std::string& message, const std::string& failed) {
        if (message.empty()) {
          EXPECT_TRUE(failed.starts_with("close") || failed.starts_with("unlink"));
          EXPECT_EQ(read_text(directory.options(), 100), "lr = 0.1\n");
          EXPECT_EQ(read_text(directory.environment(), 100), "{}");
        } else {
          EXPECT_TRUE(message.find("No space left on device") != std::string::npos &&
                      message.starts_with("/"));
        }
      });
}

void record(std::uint64_t first_step, std::uint64_t last_step) {
  MetricsSink sink(directory.metrics(), 1);
  for (std::uint64_t step = first_step; step <= last_step; ++step) {
    sink.on_step({.epoch = 1, .step = step, .samples = 2, .loss = 0.5, .learning_rate = 0.1F});
    sink.flush();
  }
}

TEST(RecordFaults, ARunDirectoryWithARunIsNeverTakenForAnEmptyOne) {
  fail_at_every_call(
      EIO,
      [] {
        create_run_directory(directory.path, "lr = 0.1\n", "{}");
        record(1, 3);
      },
      [] { create_run_directory(directory.path, "lr = 0.5\n", "{}"); },
      [](const std::string& message, const std::string&) {
        EXPECT_FALSE(message.empty());
        EXPECT_EQ(read_text(directory.options(), 100), "lr = 0.1\n");
        EXPECT_EQ(read_run_record(directory).steps.size(), 3U);
      });
}

TEST(RecordFaults, LinesBeforeTheFailureStay) {
  fail_at_every_call(
      ENOSPC,
      [] {
        create_run_directory(directory.path, "", "{}");
        record(1, 3);
      },
      [] { record(4, 9); },
      [](const std::string& message, const std::string& failed) {
        EXPECT_TRUE(message.empty() ? failed.starts_with("close")
                                    : names(message, "No space left on device"));
        const std::size_t steps = read_run_record(directory).steps.size();
        EXPECT_GE(steps, 3U);
        EXPECT_TRUE(!message.empty() || steps == 9U);
        record(10, 10);  // once there is room again
        EXPECT_EQ(read_run_record(directory).steps.back().step, 10U);
      });
}

/// Lines of metrics.jsonl after cut_metrics.
std::string cut(const std::string& lines, std::uint64_t step, int epoch, std::size_t damaged = 0) {
  SimulatedFiles disk;
  disk.mkdir("/runs");
  disk.mkdir(directory.path);
  disk.put(directory.metrics(), lines);
  const ScopedFiles replaced(disk);
  EXPECT_EQ(cut_metrics(directory, step, epoch), damaged);
  return disk.contents(directory.metrics());
}

TEST(RecordFaults, AContinuedRunKeepsTheLinesUntilItsCheckpoint) {
  const std::string step_1 = R"({"event":"step","step":1})"
                             "\n",
                    step_2 = R"({"event":"step","step":2})"
                             "\n";
  const std::string epoch_1 = R"({"event":"epoch","epoch":1})"
                              "\n",
                    end = R"({"event":"end"})"
                          "\n";
  EXPECT_EQ(cut(step_1 + step_2 + epoch_1 + end, 2, 1), step_1 + step_2 + epoch_1);
  EXPECT_EQ(cut(step_1 + step_2 + epoch_1 + end, 2, 0), step_1 + step_2);
  EXPECT_EQ(cut(step_1 + step_2, 1, 0), step_1);
  EXPECT_EQ(cut(step_1 + step_2, 5, 0), step_1 + step_2);
  EXPECT_EQ(cut(step_1 + "incomplete", 1, 0), step_1);
}

TEST(RecordFaults, LinesThatACrashHasDamagedAreLeftOut) {
  const std::string step_1 = R"({"event":"step","step":1})"
                             "\n",
                    step_2 = R"({"event":"step","step":2})"
                             "\n";
  EXPECT_EQ(cut(step_1 + std::string(5, '\0') + "\n[]\n" + step_2, 2, 0, 2), step_1 + step_2);
  EXPECT_EQ(cut(step_1 + "[]\n" + step_2, 1, 0), step_1) << "probably of later steps";
}

/// A checkpoint is written after this.
TEST(RecordFaults, LinesThatWereSyncedSurviveACrash) {
  SimulatedFiles disk;
  disk.mkdir("/runs");
  disk.mkdir(directory.path);
  disk.sync_all();
  const ScopedFiles replaced(disk);
  LineWriter(directory.metrics()).append("line\n");
  ASSERT_TRUE(sync_file(directory.metrics()));
  EXPECT_EQ(disk.crash(0)->contents(directory.metrics()), "line\n");
  EXPECT_FALSE(sync_file(directory.path / "missing"));
}

/// The folder in which the checkpoints will be.
TEST(RecordFaults, ANewRunDirectorySurvivesACrash) {
  SimulatedFiles disk;
  std::filesystem::path run;
  crash_everywhere(
      disk, 20,
      [&] {
        const auto folder = new_run_folder("/runs", "lenet");
        create_run_directory(folder, "", "{}");
        run = folder;
      },
      [&] { EXPECT_TRUE(run.empty() || file_kind(RunDirectory{run}.checkpoints()) == FileKind::folder); });
  EXPECT_EQ(run, "/runs/lenet-1");
}

TEST(RecordFaults, TheRunGoesOnAndSaysWhatFailed) {
  fail_at_every_call(
      EIO, [] { create_run_directory(directory.path, "", "{}"); },
      [] {
        Recorder recorder;
        recorder.add(std::make_unique<MetricsSink>(directory.metrics(), 1));
        recorder.add(std::make_unique<HtmlSink>(directory));
        recorder.on_step({.epoch = 1, .step = 1, .samples = 2, .loss = 0.5});
        recorder.on_epoch({.epoch = 1, .train = {.loss = 0.5}, .test = {.loss = 0.5}});
        recorder.on_end({.digest = "xxh3:0"});
        recorder.rethrow();
      },
      [](const std::string& message, const std::string& failed) {
        if (message.empty()) {
          EXPECT_TRUE(failed.starts_with("close"));
          EXPECT_FALSE(read_text(directory.report(), 100).empty());
          EXPECT_TRUE(read_run_record(directory).end);
        } else {
          EXPECT_TRUE(names(message, "Input/output error"));
        }
      });
}

TEST(RecordFaults, ARecordIsReadAsAWholeOrNotAtAll) {
  fail_at_every_call(
      EIO,
      [] {
        create_run_directory(directory.path, "lr = 0.1\n", R"({"cpu":"Zen"})");
        record(1, 3);
      },
      [] {
        const RunRecord found = read_run_record(directory);
        EXPECT_EQ(found.steps.size(), 3U);
        EXPECT_EQ(found.options.size(), 1U);
        EXPECT_EQ(found.environment.size(), 1U);
      },
      [](const std::string& message, const std::string& failed) {
        EXPECT_TRUE(message.empty() ? failed.starts_with("close") : names(message, "Input/output error"));
      });
}

}  // namespace
}  // namespace lockstep
