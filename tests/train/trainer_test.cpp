#include "lockstep/trainer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "graph/summary.h"
#include "lockstep/error.h"
#include "lockstep/evaluation.h"
#include "support/expect_error.h"
#include "support/image_files.h"
#include "support/temporary_folder.h"
#include "train/label_results.h"
#include "train/small_run.h"

namespace lockstep::test {
namespace {

TEST(Trainer, LearnsAndEvaluatesEverySampleOnce) {
  TrainerOptions chosen = options();
  chosen.epochs = 24;
  const std::vector<EpochReport> epochs = train(chosen).epochs;
  ASSERT_EQ(epochs.size(), 24U);
  EXPECT_EQ(epochs[0].train.samples, 300U);
  EXPECT_EQ(epochs[0].test.samples, 77U);
  EXPECT_LT(epochs[23].train.loss, 0.5 * epochs[0].train.loss);
  EXPECT_GT(epochs[23].test.accuracy, 0.9);
}

TEST(Trainer, LearnsNumbersAndSeveralLabels) {
  for (const Task task : {Task::regression, Task::multilabel}) {
    Synthetic training = train_set(), testing = test_set();
    training.set_task(task);
    testing.set_task(task);
    TrainerOptions chosen = options();
    chosen.epochs = 12;
    chosen.optimizer = {.name = "adamw"};
    chosen.learning_rate = 0.005;
    const FinishedRun run = train(chosen, *make_small_network(training.classes()), training, testing);
    const Evaluation& test = run.epochs.back().test;
    EXPECT_EQ(test.task, task);
    EXPECT_GT(test.score(), 0.9) << name_of(task);
    EXPECT_LT(run.epochs.back().train.loss, 0.5 * run.epochs.front().train.loss);
    if (task == Task::multilabel) {
      EXPECT_EQ(test.score(), mean_average_precision(test.labels));
      std::uint64_t wrong = 0;
      for (const auto& [samples, predicted, correct, precision] : test.labels) {
        wrong += samples + predicted - 2 * correct;
      }
      EXPECT_NEAR(test.accuracy, 1.0 - static_cast<double>(wrong) / (4 * 77.0), 1e-12);
    }
    if (task == Task::regression) {  // errors are in units scaled by target_scale()
      double distances = 0.0, mean = 0.0;
      for (std::uint64_t id = 0; id < 77; ++id)
        mean += 2.0 * static_cast<double>(testing.targets(id)[0]) / 77;
      for (std::uint64_t id = 0; id < 77; ++id) {
        distances += std::pow(2.0 * static_cast<double>(testing.targets(id)[0]) - mean, 2) / 77;
      }
      EXPECT_NEAR(test.r2, 1.0 - test.loss / distances, 1e-6);
      EXPECT_LT(test.mae, std::sqrt(test.loss));
      EXPECT_GT(test.mae, 0.0);
    }
  }
}

/// Calls fit() within an epoch of five steps, between two epochs and at the end.
TEST(Trainer, FitsFromAnyStep) {
  const TrainerOptions chosen = augmented(options());
  const FinishedRun whole = train(chosen);
  for (const int steps : {1, 4, 5, 7, 10}) {
    Trainer trainer = small_trainer(chosen);
    trainer.on_event = observer([](const EpochReport& /*report*/) { ADD_FAILURE() << "by single steps"; });
    for (int step = 0; step < steps; ++step) EXPECT_EQ(trainer.steps(1).steps, 1);
    const FinishedRun rest = finish(trainer);
    EXPECT_EQ(rest.digest, whole.digest) << steps;
    ASSERT_EQ(rest.epochs.size(), steps < 5 ? 2U : steps < 10 ? 1U : 0U);
    for (std::size_t i = 0; i < rest.epochs.size(); ++i) {
      const EpochReport& same = whole.epochs[whole.epochs.size() - rest.epochs.size() + i];
      EXPECT_EQ(rest.epochs[i].epoch, same.epoch) << steps;
      EXPECT_EQ(rest.epochs[i].train.loss, same.train.loss) << steps;
      EXPECT_EQ(rest.epochs[i].train.samples, 300U) << steps;
      EXPECT_EQ(rest.epochs[i].test.loss, same.test.loss) << steps;
    }
  }
}

/// Shares change in the middle of epochs of four full steps and a short one. The thread sanitizer runs this
/// test; tests/golden/golden.txt covers more kinds of runs, on several ranks.
TEST(Trainer, ChangingSharesChangeNoBits) {
  TrainerOptions chosen = augmented(options());
  chosen.optimizer.clip_grad = 0.1;
  chosen.epochs = 4;
  chosen.execution.threads = 1;
  const std::string expected = train(chosen).digest;
  for (const ShareRule rule : {ShareRule::measured, ShareRule::equal, ShareRule::changing}) {
    chosen.execution.shares = rule;
    for (const int threads : {1, 2, 3, 5}) {
      chosen.execution.threads = threads;
      EXPECT_EQ(train(chosen).digest, expected) << static_cast<int>(rule) << ", " << threads << " threads";
    }
  }
}

TEST(Trainer, TheTimeOfAnEpochIsThatOfItsSteps) {
  const FinishedRun run = train(options());
  ASSERT_EQ(run.epochs.size(), 2U);
  for (const EpochReport& epoch : run.epochs) {
    double seconds = 0.0;
    for (const StepReport& step : run.steps) seconds += step.epoch == epoch.epoch ? step.seconds : 0.0;
    EXPECT_NEAR(epoch.seconds, seconds, 1e-9);
    EXPECT_EQ(epoch.images_per_second, 300 / epoch.seconds);
  }
}

TEST(Trainer, MaxStepsEndsInsideAnEpoch) {
  TrainerOptions chosen = options();
  chosen.max_steps = 7;  // five steps per epoch
  const std::vector<StepReport> steps = train(chosen).steps;
  ASSERT_EQ(steps.size(), 7U);
  EXPECT_EQ(steps[4].samples, 300U - 4 * 64);
  EXPECT_EQ(steps[6].step, 7U);
  EXPECT_EQ(steps[6].epoch, 2);
  EXPECT_EQ(steps[6].steps, 7U);
}

TEST(Observer, MayChangeItsStateButNotTheEvent) {
  std::vector<int> counts;
  auto on_event = observer([&, count = 0](const StepReport&) mutable { counts.push_back(++count); },
                           [&](DigestReport) { counts.push_back(0); });
  for (const RunEvent& event :
       {RunEvent(StepReport{}), RunEvent(DigestReport{}), RunEvent(EpochReport{}), RunEvent(StepReport{})}) {
    on_event(event);
  }
  EXPECT_EQ(counts, (std::vector<int>{1, 0, 2}));
  const auto reads = [](const StepReport&) {};
  const auto writes = [](StepReport&) {};
  const auto of_no_event = [](const BestEpoch&) {};
  static_assert(EventFunction<decltype(reads)> && !EventFunction<decltype(writes)>);
  static_assert(!EventFunction<decltype(of_no_event)>);
}

TEST(Trainer, StepsReportTheNormOfTheGradientWhereItIsComputed) {
  const auto norm_of_first_step = [](double clip_grad, OnNan on_nan) {
    TrainerOptions chosen = options();
    chosen.max_steps = 1;
    chosen.optimizer.clip_grad = clip_grad;
    chosen.on_nan = on_nan;
    return train(chosen).steps.at(0).gradient_norm;
  };
  const double norm = norm_of_first_step(0.1, OnNan::stop);
  EXPECT_GT(norm, 0.1);  // the norm before clipping
  EXPECT_EQ(norm_of_first_step(0.0, OnNan::skip), norm);
  EXPECT_EQ(norm_of_first_step(0.0, OnNan::stop), 0.0);
}

/// Data set of 40 samples. The first `bad` of them cannot be read.
Synthetic damaged(std::uint64_t bad, Category reason = Category::data) {
  return Synthetic(40, {1, 12, 12}, 4).damaged([bad](std::uint64_t id) { return id < bad; }, reason);
}

TEST(Trainer, SamplesThatCannotBeReadAreNotCounted) {
  const Synthetic some = damaged(17);
  TrainerOptions chosen = options();
  chosen.batch.size = 8;
  Trainer trainer = small_trainer(chosen, some, some);
  const Evaluation evaluation = trainer.evaluate(some);
  EXPECT_EQ(evaluation.samples, 23U);
  EXPECT_NEAR(evaluation.loss, std::log(4.0), 0.5);
  const std::vector<EpochReport> epochs = train(chosen, small_network(), some, some).epochs;
  ASSERT_EQ(epochs.size(), 2U);
  EXPECT_EQ(epochs[0].train.samples, 23U);
  EXPECT_EQ(epochs[0].train.skipped, 17U);
  EXPECT_EQ(epochs[1].test.skipped, 17U);
  EXPECT_TRUE(std::isfinite(epochs[1].train.loss));
}

TEST(Trainer, DataSetsOfWhichNothingCanBeReadAreErrors) {
  const Synthetic all = damaged(40), some = damaged(39);
  const auto fit = [&](const Dataset& train, const Dataset& test) {
    Trainer trainer = small_trainer(options(), train, test);
    trainer.fit();
    EXPECT_EQ(trainer.evaluate(some).samples, 1U);
    expect_error(Category::data, {"none of the 40 samples can be read"}, [&] { trainer.evaluate(all); });
  };
  fit(some, some);
  expect_error(Category::data, {"none of the 40 training samples of epoch 1 can be read"},
               [&] { fit(all, some); });
  expect_error(Category::data, {"none of the 40 test samples can be read"}, [&] { fit(some, all); });
}

/// A file changes after the first epoch of five steps. The run is not stopped, or stopped there, or stopped
/// three steps later, when its checkpoint holds a checksum of the contents read so far in the epoch. Some
/// files are not read: with drop_last the last, smaller batch, and after a rollback the batches before the
/// non-finite loss.
TEST(Trainer, FilesThatChangeBetweenEpochsEndTheRun) {
  struct Case {
    std::uint64_t stop = 0;
    bool drop_last = false;
    OnNan on_nan = OnNan::stop;
  };
  const auto network =
      network_with_batch_norm();  // the variance of an image with the largest values overflows
  Synthetic black(8, {1, 12, 12}, 4);
  black.change = [](std::uint64_t, std::vector<std::uint8_t>& pixels) { std::ranges::fill(pixels, 0); };
  for (const Case& run :
       {Case{}, Case{.stop = 5}, Case{.stop = 8}, Case{.drop_last = true}, Case{.on_nan = OnNan::rollback}}) {
    for (const bool changes : {false, true}) {
      SCOPED_TRACE("stopped after " + std::to_string(run.stop) +
                   (run.drop_last ? " steps, drop_last" : " steps") +
                   (run.on_nan == OnNan::rollback ? ", rollback" : "") + (changes ? ", changes" : ""));
      const TemporaryFolder folder;
      bool changed = false;  // whether one file has changed to another of the same size
      int returns = 0;
      Synthetic files(run.drop_last ? 43 : 40, {1, 12, 12}, 4);
      files.kind = Encoding::image_file;
      files.change = [&](std::uint64_t id, std::vector<std::uint8_t>& bytes) {
        if (run.on_nan == OnNan::rollback) std::ranges::fill(bytes, id == 7 ? 255 : 0);
        bytes = encode_jpeg({12, 12, 1, bytes}, 90);
        if (changed && id == 21) bytes.back() ^= 1;
      };
      TrainerOptions chosen = options();
      chosen.batch.size = 8;
      chosen.drop_last = run.drop_last;
      chosen.on_nan = run.on_nan;
      if (run.on_nan == OnNan::rollback) chosen.input = {.mean = {0.0}, .deviation = {2e-38}};
      const auto train = [&](std::uint64_t from) {
        Trainer trainer(world(), *network, files, black, chosen);
        trainer.on_event = observer([&](const EpochReport&) { changed = changes; },
                                    [&](const NotFiniteReport&) { ++returns; });
        if (from > 0) trainer.resume(folder / ("step-0000000" + std::to_string(from)));
        trainer.write_checkpoints(folder.path(),
                                  {.every = {.steps = run.on_nan == OnNan::rollback ? 3U : 0U}});
        changed = changes && from > 0;
        trainer.fit();
      };
      if (run.stop > 0) {
        chosen.max_steps = run.stop;
        train(0);
        chosen.max_steps = 0;
        changed = false;  // resume() must find the files as they were at the run's start
      }
      if (changes) {
        expect_error(Category::data, {"epoch 2 has read other bytes than earlier epochs"},
                     [&] { train(run.stop); });
      } else {
        EXPECT_NO_THROW(train(run.stop));
      }
      EXPECT_EQ(returns > 0, run.on_nan == OnNan::rollback);
    }
  }
}

/// A temporary lack of memory or descriptors ends the run rather than change its result.
TEST(Trainer, FailuresThatAreNotTheSamplesEndTheRun) {
  const Synthetic failing = damaged(1, Category::resource);
  expect_error(Category::resource, {"sample 0: damaged"},
               [&] { train(options(), small_network(), failing); });
}

TEST(Trainer, AveragesAreEvaluatedAndSavedButTheDigestIsTheTrainedOne) {
  TrainerOptions chosen = options();
  chosen.epochs = 1;
  const std::string trained = train(chosen).digest;
  chosen.model_ema = true;
  chosen.model_ema_decay = 0.9;
  Trainer trainer = small_trainer(chosen);
  const std::string start = trainer.digest();
  const FinishedRun run = finish(trainer);
  EXPECT_EQ(run.digest, trained);

  const TemporaryFolder folder;
  const std::string file = (folder.path() / "averages.safetensors").string();
  trainer.save(file);
  const ModelFile model = ModelFile::read(file);
  EXPECT_NE(lockstep::digest(small_network(), model), trained);
  EXPECT_NE(lockstep::digest(small_network(), model), start);
  EXPECT_EQ(evaluate(world(), small_network(), model, test_set(),
                     {.batch = {.size = 64, .micro_batches = 4}, .execution = {.threads = 1}})
                .loss,
            run.epochs.at(0).test.loss);
}

/// Models are saved by a trainer that has trained, and by one that resumes from its checkpoint and makes no
/// steps.
TEST(Trainer, SavedModelsDescribeThemselves) {
  const auto network = network_with_batch_norm();
  const TemporaryFolder folder;
  TrainerOptions chosen = options();
  chosen.input = {.mean = {0.3}, .deviation = {0.4}};
  double accuracy = 0.0;
  for (const char* file : {"first.safetensors", "resumed.safetensors"}) {
    Trainer trainer(world(), *network, train_set(), test_set(), chosen);
    trainer.on_event = observer([&](const EpochReport& report) { accuracy = report.test.accuracy; });
    trainer.describe({.options = {{"model", "mine"}}, .data = {{"dataset", "squares"}}});
    trainer.ask = [&] { return trainer.step() == 7 ? Request::checkpoint : Request::none; };
    if (file == std::string("resumed.safetensors")) trainer.resume(folder / "step-00000010");
    trainer.write_checkpoints(folder.path(), {.every = {}});
    trainer.fit();
    trainer.save((folder / file).string(), {{"mine", "yes"}});
    const ModelFile model = ModelFile::read(folder / file);
    const ModelDescription description = description_of(model);
    EXPECT_EQ(fingerprint(*make_network(description, file)), fingerprint(*network));
    EXPECT_EQ(description.shape, (Shape{1, 12, 12}));
    EXPECT_EQ(description.outputs, 4);
    EXPECT_EQ(description.input, (InputOptions{.mean = {0.3}, .deviation = {0.4}, .crop_share = 1.0}));
    EXPECT_EQ(description.data, (Facts{{"dataset", "squares"}}));
    EXPECT_EQ(description.options.back(), (Facts::value_type{"model", "mine"}));
    EXPECT_EQ(description.results[0], (Facts::value_type{"epoch", "2"}));
    EXPECT_EQ(description.digest, trainer.digest());
    EXPECT_EQ(model.metadata().at("test_accuracy"), fmt::format("{}", accuracy));
    EXPECT_EQ(model.metadata().at("mine"), "yes");
    EXPECT_EQ(model.metadata().at("producer"), "lockstep");
    const ModelFile checkpoint = ModelFile::read(folder / "step-00000010/model.safetensors");
    EXPECT_EQ(description_of(checkpoint).network, description.network);
    EXPECT_EQ(description_of(checkpoint).results, description.results);
    const ModelFile earlier = ModelFile::read(folder / "step-00000005/model.safetensors");
    EXPECT_EQ(description_of(earlier).results[0], (Facts::value_type{"epoch", "1"}));
    const ModelFile not_evaluated = ModelFile::read(folder / "step-00000007/model.safetensors");
    EXPECT_TRUE(description_of(not_evaluated).results.empty());
  }
}

TEST(Trainer, EarlyStoppingEndsTheRunAndNamesTheBestEpoch) {
  TrainerOptions chosen = options();
  chosen.epochs = 5;
  chosen.learning_rate = 0.0F;  // no epoch is better than the first
  for (const int patience : {0, 1, 3, 4}) {
    chosen.early_stopping = patience;
    Trainer trainer = small_trainer(chosen);
    const std::vector<EpochReport> epochs = finish(trainer).epochs;
    EXPECT_EQ(epochs.size(), patience == 0 ? 5U : static_cast<std::size_t>(1 + patience));
    EXPECT_EQ(std::ranges::count(epochs, true, &EpochReport::best), 1);
    EXPECT_EQ(trainer.best().epoch, 1);
    EXPECT_EQ(trainer.stopped_early(), patience == 1 || patience == 3);  // with 4, all 5 epochs were trained
  }
}

/// The first epoch is the best one. The run is stopped in its fourth epoch of five steps and resumed with a
/// patience that the third epoch had already exhausted.
TEST(Trainer, EarlyStoppingGivenAtAResumeEndsTheRunAtTheEndOfAnEpoch) {
  const TemporaryFolder folder;
  TrainerOptions chosen = options();
  chosen.epochs = 5;
  chosen.learning_rate = 0.0F;
  {
    Trainer trainer = small_trainer(chosen);
    trainer.ask = [&] { return trainer.step() == 17 ? Request::stop : Request::none; };
    trainer.write_checkpoints(folder.path(), {});
    trainer.fit();
  }
  chosen.early_stopping = 2;
  Trainer trainer = small_trainer(chosen);
  trainer.resume(folder / "step-00000017");
  EXPECT_FALSE(trainer.done() || trainer.stopped_early());
  EXPECT_EQ(trainer.epochs(), 3);
  trainer.fit();
  EXPECT_TRUE(trainer.stopped_early());
  EXPECT_EQ(trainer.step(), 20U);
  EXPECT_EQ(trainer.epochs(), 4);
  EXPECT_EQ(trainer.best().epoch, 1);
}

/// Epochs are counted in steps. Batches of 64 and of 72 both divide the 300 samples into five steps.
TEST(Trainer, ARunContinuesWithOtherBatchesIfAnEpochHasAsManySteps) {
  const TemporaryFolder folder;
  {
    Trainer trainer = small_trainer(options());
    trainer.write_checkpoints(folder.path(), {.keep = 2});
    trainer.fit();
  }
  const auto resumed = [&](int batch_size, bool drop_last) {
    TrainerOptions chosen = options();
    chosen.batch.size = batch_size;
    chosen.drop_last = drop_last;
    return small_trainer(chosen).resume(folder / "step-00000005", true);
  };
  EXPECT_EQ(resumed(72, false).size(), 1U);
  expect_error(Category::usage, {"batch-size", "which gives an epoch 10 steps instead of 5"},
               [&] { resumed(32, false); });
  expect_error(Category::usage, {"drop-last", "which gives an epoch 4 steps instead of 5"},
               [&] { resumed(64, true); });
}

/// The validation set has wrong labels: the better an epoch is on the test set, the worse it is on the
/// validation set.
TEST(Trainer, ValidationSetDecidesWhichEpochIsBest) {
  struct Contrary : Synthetic {
    using Synthetic::Synthetic;
    int label(std::uint64_t id) const override { return (Synthetic::label(id) + 1) % 4; }
  };
  const Contrary contrary(77, {1, 12, 12}, 4);
  TrainerOptions chosen = options();
  chosen.epochs = 12;
  const std::string trained = train(chosen).digest;
  Trainer trainer(world(), small_network(), train_set(), test_set(), chosen, &contrary);
  double best = -1.0;
  double best_test = 0.0;
  trainer.on_event = observer([&](const EpochReport& report) {
    ASSERT_TRUE(report.validation.has_value());
    EXPECT_EQ(report.validation->samples, 77U);
    EXPECT_EQ(report.best, report.validation->accuracy > best);
    best = std::max(best, report.validation->accuracy);
    best_test = std::max(best_test, report.test.accuracy);
  });
  trainer.fit();
  EXPECT_EQ(trainer.best().score, best);
  EXPECT_LT(best, best_test);
  EXPECT_EQ(trainer.digest(), trained);  // the validation set must not affect training
}

/// check_fields covers invalid values of single options.
TEST(Trainer, RefusesImpossibleOptions) {
  const auto refused = [&](const std::function<void(TrainerOptions&)>& change) {
    TrainerOptions chosen = options();
    change(chosen);
    expect_error(Category::usage, {}, [&] { small_trainer(chosen); });
  };
  refused([](TrainerOptions& o) { o.batch.size = 0; });
  refused([](TrainerOptions& o) { o.batch.micro_batches = 3; });
  refused([](TrainerOptions& o) { o.optimizer.name = "none"; });
  refused([](TrainerOptions& o) { o.optimizer.freeze = {"conv9"}; });
  refused([](TrainerOptions& o) { o.input.mean = {0.1, 0.2}; });
  refused([](TrainerOptions& o) { o.augment.randaugment = "rand"; });
  refused([](TrainerOptions& o) {
    o.batch.size = 512;
    o.drop_last = true;
  });
  const Synthetic other(10, {3, 12, 12}, 4);
  EXPECT_THROW(Trainer(world(), small_network(), other, test_set(), options()), Error);
}

TEST(Trainer, NamesThePartOfTheDataThatItRefuses) {
  const auto refused = [](Category category, const Dataset& part, const std::string& message) {
    const auto expect = [&](const std::string& name, const std::function<void()>& make) {
      expect_error(category, {fmt::format(fmt::runtime(message), name)}, make);
    };
    if (part.task() == Task::classification) {
      expect("training data", [&] { Trainer(world(), small_network(), part, test_set(), options()); });
    }
    expect("test data", [&] { Trainer(world(), small_network(), train_set(), part, options()); });
    expect("validation data",
           [&] { Trainer(world(), small_network(), train_set(), test_set(), options(), &part); });
    Trainer trainer = small_trainer(options());
    expect("data set", [&] { trainer.evaluate(part); });
  };
  struct Mislabelled : Synthetic {
    using Synthetic::Synthetic;
    int label(std::uint64_t id) const override { return id == 17 ? 4 : Synthetic::label(id); }
  };
  refused(Category::data, Mislabelled(77, {1, 12, 12}, 4),
          "{}: sample 17 has label 4, but there are 4 classes");
  refused(Category::usage, Synthetic(0, {1, 12, 12}, 4), "the {} has no samples");
  Synthetic named = test_set();
  named.names = {"cat", "dog", "cow"};
  refused(Category::usage, named, "class_names() of the {} returns 3 names, but classes() is 4");
  Synthetic numbers = test_set();
  numbers.set_task(Task::regression);
  refused(Category::usage, numbers,
          "the task of the {} is regression, that of the training data is classification");
}

TEST(Trainer, MakesNoNegativeNumberOfSteps) {
  Trainer trainer = small_trainer(options());
  expect_error(Category::usage, {"steps() was called for -1"}, [&] { trainer.steps(-1); });
}

}  // namespace
}  // namespace lockstep::test
