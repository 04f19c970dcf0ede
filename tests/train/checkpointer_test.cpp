// Checkpoints that a run writes concurrently with its steps. Five steps per epoch.
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <latch>
#include <memory>
#include <utility>

#include "core/files/file_system.h"
#include "lockstep/error.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"
#include "support/test_files.h"
#include "train/small_run.h"

namespace lockstep::test {
namespace {

/// A disk on which checkpoints get their final names only after release().
class WaitingDisk {
 public:
  void release() {
    if (!released_.try_wait()) released_.count_down();
  }
  /// Waits until the thread that wrote the first checkpoint has ended.
  void wait_for_its_thread() { written_.wait(); }

 private:
  bool is_first_ = true;
  std::latch released_{1}, written_{1};
  TestFiles waiting_{system_files(), [this](const FileCall& call) {
                       if (call.name == "rename" && call.path.extension() == ".tmp" &&
                           call.path.filename().string().starts_with(".step-")) {
                         released_.wait();
                         thread_local std::shared_ptr<void> at_end;  // its deleter runs when the thread ends
                         if (std::exchange(is_first_, false)) {
                           at_end = {nullptr, [this](void*) { written_.count_down(); }};
                         }
                       }
                       return 0;
                     }};
  ScopedFiles scope_{waiting_};
};

/// Makes writes fail for checkpoints whose temporary names begin with `name`.
TestFiles::ErrorOf failing_writes(const std::string& name, int error) {
  return [=](const FileCall& call) {
    const std::string checkpoint = call.path.parent_path().filename();
    return call.name == "write" && checkpoint.starts_with(name) ? error : 0;
  };
}

struct CheckpointedRun {
  std::vector<std::uint64_t> steps;  ///< steps of the written checkpoints
  std::function<void(const CheckpointReport&)> on_checkpoint = [](const CheckpointReport&) {};
  std::function<void(std::uint64_t step)> on_step = [](std::uint64_t) {};
  std::function<void(Request)> act;
  int best = 0;

  void train(const TemporaryFolder& folder, const TrainerOptions& chosen,
             const CheckpointOptions& checkpoints) {
    Trainer trainer = small_trainer(chosen);
    trainer.act = act;
    trainer.on_event = observer([&](const StepReport& step) { on_step(step.step); },
                                [&](const CheckpointReport& report) {
                                  EXPECT_EQ(report.failure, "");
                                  steps.push_back(report.step);
                                  on_checkpoint(report);
                                });
    trainer.write_checkpoints(folder.path(), checkpoints);
    trainer.fit();
    best = trainer.best().epoch;
  }
};

TrainerOptions with_epochs(int epochs) {
  TrainerOptions chosen = options();
  chosen.epochs = epochs;
  return chosen;
}

TEST(Checkpointer, TheBestEpochHasACheckpointThoughTheOneBeforeItIsStillWritten) {
  const TemporaryFolder folder;
  WaitingDisk disk;
  CheckpointedRun run;
  // The second request is at the end of the epoch, before the run waits for the checkpoint of step 3.
  int requests = 0;
  run.act = [&](Request) {
    if (++requests == 2) disk.release();
  };
  run.on_step = [&](std::uint64_t step) {
    if (step == 6) disk.release();
  };
  run.train(folder, with_epochs(2), {.every = {.steps = 3}, .keep = 9});
  ASSERT_GE(run.steps.size(), 2U);
  EXPECT_EQ(run.steps[0], 3U);
  EXPECT_EQ(run.steps[1], 5U) << "the first epoch is the best one so far";
}

TEST(Checkpointer, ACheckpointThatIsDueDuringAWriteFollowsIt) {
  const TemporaryFolder folder;
  WaitingDisk disk;
  CheckpointedRun run;
  TrainerOptions chosen = with_epochs(3);
  chosen.learning_rate = 0.0F;  // no epoch is better than the first
  run.on_step = [&](std::uint64_t step) {
    if (step != 12) return;
    disk.release();
    disk.wait_for_its_thread();
  };
  run.train(folder, chosen, {.every = {}, .keep = 9});
  EXPECT_EQ(run.steps, (std::vector<std::uint64_t>{5, 12, 15}));
}

TEST(Checkpointer, TheBestCheckpointStaysUntilThatOfABetterEpochIsWritten) {
  const TemporaryFolder folder;
  CheckpointedRun run;
  TrainerOptions chosen = with_epochs(2);
  chosen.on_nan = OnNan::rollback;  // a checkpoint waits for the previous one instead of being postponed
  bool best_stays = false;
  run.on_checkpoint = [&](const CheckpointReport& report) {
    if (report.step == 9) best_stays = std::filesystem::exists(folder / "step-00000005");
  };
  run.train(folder, chosen, {.every = {.steps = 9}, .keep = 1});
  EXPECT_EQ(run.best, 2);
  EXPECT_TRUE(best_stays) << "step 9 was copied before the end of the second epoch";
  EXPECT_EQ(run.steps, (std::vector<std::uint64_t>{0, 5, 9, 10}));
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"step-00000010"}));
}

TEST(Checkpointer, TheBestTheNewestAndTheOneForARollbackStay) {
  const TemporaryFolder folder;
  TrainerOptions chosen = with_epochs(3);
  chosen.on_nan = OnNan::rollback;
  chosen.learning_rate = 0.0F;  // no epoch is better than the first
  chosen.max_steps = 13;
  CheckpointedRun().train(folder, chosen, {.every = {}, .keep = 1});
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"step-00000005", "step-00000010", "step-00000013"}));
}

TEST(Checkpointer, ARunThatWasStoppedInItsLastEvaluationHasNothingToDoAfterTheNextOne) {
  const TemporaryFolder folder;
  const auto had_nothing_to_do = [&](bool stops) {
    Trainer trainer = small_trainer(with_epochs(2));
    trainer.ask = [&] { return stops && trainer.step() == 10 ? Request::stop : Request::none; };
    if (!stops) trainer.resume(folder / "step-00000010");
    const bool done = trainer.done();
    trainer.write_checkpoints(folder.path(), {});
    trainer.fit();
    EXPECT_EQ(trainer.done(), !stops);
    return done;
  };
  EXPECT_FALSE(had_nothing_to_do(true));
  EXPECT_FALSE(had_nothing_to_do(false)) << "but the evaluation";
  EXPECT_TRUE(had_nothing_to_do(false));
}

TEST(Checkpointer, WhatHasToBeOnTheDiskBeforeACheckpointCanBeWritten) {
  const TemporaryFolder folder;
  Trainer trainer = small_trainer(with_epochs(2));
  std::vector<std::size_t> checkpoints;
  trainer.before_checkpoint = [&] { checkpoints.push_back(folder.names().size()); };
  trainer.write_checkpoints(folder.path(), {.every = {}});
  trainer.fit();
  EXPECT_EQ(checkpoints, (std::vector<std::size_t>{0, 1}));
}

TEST(Checkpointer, MakesItsFolderOrRefusesIt) {
  const TemporaryFolder folder;
  Trainer trainer = small_trainer(with_epochs(1));
  const std::filesystem::path file = folder.write("file", "x");
  for (const std::filesystem::path& wrong : {file, file / "checkpoints"}) {
    expect_error(Category::resource, {"file", ": cannot create the folder: "},
                 [&] { trainer.write_checkpoints(wrong, {}); });
  }
  trainer.write_checkpoints(folder / "run/checkpoints", {});
  EXPECT_TRUE(std::filesystem::is_directory(folder / "run/checkpoints"));
}

TEST(Checkpointer, ARunIsResumedBeforeItsCheckpointsAreWritten) {
  const TemporaryFolder folder;
  CheckpointedRun().train(folder, with_epochs(1), {.every = {}});
  Trainer trainer = small_trainer(with_epochs(2));
  trainer.write_checkpoints(folder.path(), {});
  expect_error(Category::usage, {"resume() was called after write_checkpoints(): call it before"},
               [&] { trainer.resume(folder / "step-00000005"); });
}

/// Resuming from a checkpoint within an epoch discards the steps that the process made before.
TEST(Checkpointer, ARunIsResumedWhateverTheTrainerHasDoneBefore) {
  const TemporaryFolder folder;
  Trainer whole = small_trainer(with_epochs(2));
  whole.ask = [&] { return whole.step() % 4 == 3 ? Request::checkpoint : Request::none; };
  whole.write_checkpoints(folder.path(), {.every = {}, .keep = 9});
  whole.fit();
  const std::vector<std::pair<const char*, std::function<void(Trainer&)>>> cases = {
      {"a step", [](Trainer& trainer) { trainer.steps(1); }},
      {"a run", [](Trainer& trainer) { trainer.fit(); }},
      {"a later checkpoint", [&](Trainer& trainer) { trainer.resume(folder / "step-00000007"); }}};
  for (const auto& [name, work] : cases) {
    Trainer trainer = small_trainer(with_epochs(2));
    work(trainer);
    trainer.resume(folder / "step-00000003");
    trainer.fit();
    EXPECT_EQ(trainer.digest(), whole.digest()) << name;
  }
}

/// Otherwise the next start would resume from the later checkpoint.
TEST(Checkpointer, ARunDoesNotContinueBesideALaterCheckpoint) {
  const TemporaryFolder folder;
  CheckpointedRun().train(folder, with_epochs(2), {.every = {}, .keep = 2});
  Trainer trainer = small_trainer(with_epochs(2));
  trainer.resume(folder / "step-00000005");
  TestFiles disk(system_files(), [](const FileCall& call) { return call.name == "rename" ? EACCES : 0; });
  const ScopedFiles scope(disk);
  expect_error(Category::resource,
               {"/step-00000010: ", "Permission denied; a later checkpoint than that of step 5 stays"},
               [&] { trainer.write_checkpoints(folder.path(), {}); });
}

TEST(Checkpointer, WithoutAnObserverAFailureIsAWarning) {
  const TemporaryFolder folder;
  Trainer trainer = small_trainer(with_epochs(2));
  trainer.write_checkpoints(folder.path(), {.every = {}});
  TestFiles disk(system_files(), failing_writes(".step-", EIO));
  const ScopedFiles scope(disk);
  testing::internal::CaptureStderr();
  trainer.fit();
  const std::string text = testing::internal::GetCapturedStderr();
  expect_holds(text, "lockstep: warning: no checkpoint of step 5: ");
  expect_holds(text, "lockstep: warning: no checkpoint of step 10: ");
  EXPECT_TRUE(text.ends_with(": Input/output error\n")) << "the run does not continue: " << text;
}

TEST(Checkpointer, AStopWithoutACheckpointIsAnErrorThatNamesTheOneBefore) {
  const TemporaryFolder folder;
  Trainer trainer = small_trainer(with_epochs(2));
  trainer.ask = [&] { return trainer.step() == 7 ? Request::stop : Request::none; };
  trainer.write_checkpoints(folder.path(), {.every = {}});
  TestFiles disk(system_files(), failing_writes(".step-00000007", EIO));
  const ScopedFiles scope(disk);
  expect_error(Category::resource,
               {"its last checkpoint could not be written: ", "Input/output error", "the one before it is ",
                "/step-00000005"},
               [&] { trainer.fit(); });
}

TEST(Checkpointer, AStopWithoutACheckpointHasTheStatusOfItsFailureIfTheFolderCannotBeListed) {
  const TemporaryFolder folder;
  Trainer trainer = small_trainer(with_epochs(2));
  trainer.on_event = [](const RunEvent&) {};
  trainer.ask = [&] { return trainer.step() == 7 ? Request::stop : Request::none; };
  trainer.write_checkpoints(folder / "checkpoints", {.every = {}});
  std::filesystem::remove(folder / "checkpoints");
  folder.write("checkpoints", "a file");
  expect_error(Category::resource, {"its last checkpoint could not be written: ", "cannot create the folder"},
               [&] { trainer.fit(); });
}

TEST(Checkpointer, TheCheckpointOfAStopIsTriedAgainWhileTheDiskIsFull) {
  const TemporaryFolder folder;
  Trainer trainer = small_trainer(with_epochs(2));
  trainer.ask = [&] { return trainer.step() == 7 ? Request::stop : Request::none; };
  TestFiles disk(system_files(), failing_writes(".step-00000007", ENOSPC));
  std::vector<std::string> failures;
  trainer.on_event = observer([&](const CheckpointReport& report) {
    if (report.step != 7) return;
    failures.push_back(report.failure);
    disk.fail();  // the disk has room again
  });
  trainer.write_checkpoints(folder.path(), {.every = {}});
  const ScopedFiles scope(disk);
  trainer.fit();
  ASSERT_EQ(failures.size(), 2U);
  expect_holds(failures[0], "No space left on device; it is tried again for up to 20 s");
  EXPECT_EQ(failures[1], "");
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"step-00000005", "step-00000007"}));
}

/// A run that ends within an epoch is evaluated there, even if an earlier run went past that step.
TEST(Checkpointer, TheNumberOfStepsMayChange) {
  const TemporaryFolder folder;
  struct Resumed {
    int epochs_before;
    std::vector<int> evaluated;
    bool operator==(const Resumed&) const = default;
  };
  const auto train = [&](std::uint64_t max_steps, const char* from) {
    TrainerOptions chosen = with_epochs(2);
    chosen.max_steps = max_steps;
    Trainer trainer = small_trainer(chosen);
    if (*from != '\0') trainer.resume(folder / from);
    Resumed result{.epochs_before = trainer.epochs(), .evaluated = {}};
    trainer.on_event = observer([&](const EpochReport& report) { result.evaluated.push_back(report.epoch); });
    trainer.ask = [&] { return trainer.step() == 7 ? Request::checkpoint : Request::none; };
    trainer.write_checkpoints(folder.path(), {.every = {}, .keep = 9});
    trainer.fit();
    return result;
  };
  EXPECT_EQ(train(0, ""), (Resumed{0, {1, 2}}));
  EXPECT_EQ(train(7, "step-00000007"), (Resumed{1, {2}})) << "not evaluated there before";
  EXPECT_EQ(train(7, "step-00000007"), (Resumed{2, {}})) << "nothing to do";
  EXPECT_EQ(train(0, "step-00000007"), (Resumed{1, {2}})) << "the whole epoch";
}

}  // namespace
}  // namespace lockstep::test
