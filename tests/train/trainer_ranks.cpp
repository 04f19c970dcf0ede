// Training on real processes: all ranks must act alike.
#include <fmt/format.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lockstep/evaluation.h"
#include "lockstep/sampler.h"
#include "lockstep/trainer.h"
#include "support/expect_error.h"
#include "support/ranks_test.h"
#include "support/temporary_folder.h"
#include "train/evaluator.h"
#include "train/loop/epoch_loop.h"
#include "train/phases.h"
#include "train/poisoned.h"
#include "train/predictions.h"

namespace lockstep {
namespace {

class Training : public test::RanksTest {};

TrainerOptions options() {
  TrainerOptions options = test::augmented(test::options());  // two epochs of five steps
  options.model_ema = true;
  options.model_ema_decay = 0.9;
  return options;
}

/// Requests, each with the number of steps after which the run acted on it.
using Acts = std::vector<std::pair<std::uint64_t, Request>>;

/// Run in which rank `asking` makes requests at some step boundaries. It continues after each stop.
struct AskedRun {
  std::string digest;
  Acts acts;
  std::vector<double> test_losses;
  std::uint64_t asked = 0;

  AskedRun(const World& world, int asking, const std::set<std::uint64_t>& checkpoints,
           const std::set<std::uint64_t>& stops, const TrainerOptions& chosen = options()) {
    Trainer trainer(world, test::small_network(), test::train_set(), test::test_set(), chosen);
    std::uint64_t steps = 0;
    trainer.on_event = observer([&](const StepReport& report) { steps = report.step; },
                                [&](const EpochReport& report) { test_losses.push_back(report.test.loss); });
    std::set<std::uint64_t> coming = stops;
    if (world.rank() == asking) {
      trainer.ask = [&] {
        ++asked;
        if (coming.erase(steps) > 0) return Request::stop;
        return checkpoints.contains(steps) ? Request::checkpoint : Request::none;
      };
    }
    trainer.act = [&](Request request) { acts.emplace_back(steps, request); };
    for (std::size_t i = 0; i <= stops.size(); ++i) trainer.fit();
    digest = trainer.digest();
  }
};

/// Digest of the averages that rank 0 saves after a stop within the second epoch or, if `steps`, after two
/// steps without fit(); empty on other ranks. Each rank has its own copy of the averages.
std::string digest_of_saved_averages(const World& world, bool steps) {
  TrainerOptions chosen = options();
  chosen.execution.transport = Transport::messages;
  Trainer trainer(world, test::small_network(), test::train_set(), test::test_set(), chosen);
  if (steps) {
    for (int i = 0; i < 2; ++i) trainer.steps(1);
  } else {
    trainer.ask = [&] { return trainer.step() == 8 ? Request::stop : Request::none; };
    trainer.fit();
  }
  if (world.rank() > 0) return {};
  const TemporaryFolder folder;
  const std::string file = (folder / "averages.safetensors").string();
  trainer.save(file);
  return digest(test::small_network(), ModelFile::read(file));
}

/// Error of a run in which the last rank flips a bit of its copy of the parameters after step 3. Copies are
/// compared every `every` steps, and checkpoints written every `checkpoint_every` steps; 0: at ends of
/// epochs.
Error error_after_a_flipped_bit(const World& world, std::uint64_t every, std::uint64_t checkpoint_every) {
  TrainerOptions chosen = test::options();
  chosen.reduce = Reduce::ring;  // each rank has its own copy
  chosen.check_replicas_every = every;
  test::Phases run(world, chosen);
  Evaluator evaluator(run.session, *run.graph, test::test_set(), run.run.micro_batch(), run.state.results(),
                      chosen.input, 1);
  RunHooks hooks;
  hooks.on_event = observer([&](const StepReport& report) {
    if (report.step != 3 || world.rank() < world.size() - 1) return;
    float& value = run.state.parameters()[5];
    value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ 1U);
  });
  const TemporaryFolder folder;
  Checkpointer checkpointer(run.session, run.run, run.state, folder.path(),
                            {.every = {.steps = checkpoint_every}}, {}, {}, hooks);
  EpochLoop loop({.session = run.session,
                  .run = run.run,
                  .steps = run.steps,
                  .state = run.state,
                  .hooks = hooks,
                  .checkpointer = &checkpointer},
                 evaluator, nullptr);
  const auto train = [&] {
    while (!loop.position().done()) loop.run_epoch();
  };
  return error_of(train).value_or(Error(Category::usage, "nothing was thrown"));
}

TEST_F(Training, PredictionsHaveTheSameBitsInTheSameOrderOnAnyNumberOfRanks) {
  const auto network = test::network_with_batch_norm();
  const test::Synthetic many =
      test::Synthetic(1001, {1, 12, 12}, 4).damaged([](std::uint64_t id) { return id % 97 == 5; });
  const EvaluationOptions options = test::in_micro_batches_of(2, {.threads = 2});
  const test::Predicted together(world(), *network, many, options);
  world().agree([&] {
    if (world().rank() != 0) {
      EXPECT_EQ(together.samples, 0U) << "only rank 0 takes the outputs";
      return;
    }
    const test::Predicted alone(world().alone(), *network, many, options);
    EXPECT_EQ(together.samples, 1001U);
    EXPECT_EQ(together.bits(), alone.bits());
    EXPECT_EQ(together.unreadable, alone.unreadable);
    EXPECT_EQ(together.reasons, alone.reasons);
    EXPECT_EQ(together.reasons.size(), 11U);
  });
}

TEST_F(Training, AnErrorOfTheCallerOfAPredictionEndsAllRanks) {
  const ModelFile model = test::first_values(test::small_network());
  EXPECT_THROW(predict(world(), test::small_network(), model, test::test_set(), test::in_micro_batches_of(2),
                       [](const OutputBlock&) { throw Error(Category::resource, "disk full"); }),
               Error);
}

TEST_F(Training, SkippedStepsLeaveTheSameBitsOnAnyNumberOfRanks) {
  const test::Poisoned train({test::sample_of_step(3), test::sample_of_step(4)});
  const TrainerOptions chosen = test::poisoned_options(OnNan::skip);
  test::PoisonedRun together, alone;
  together.train(world(), train, chosen);
  ASSERT_EQ(together.reports.size(), 4U) << "two in each epoch";
  EXPECT_EQ(together.reports[0].step, 3U);
  EXPECT_EQ(together.reports[1].step, 4U);
  EXPECT_EQ(together.skipped_steps, (std::vector<std::uint64_t>{2, 2}));
  const std::vector<std::uint64_t>& samples = together.reports[0].samples;
  const Permutation order(300, chosen.seed, 0);
  ASSERT_TRUE(samples.size() == 64 && samples[0] == order(128) && samples[63] == order(191));
  world().agree([&] {
    if (world().rank() != 0) return;
    alone.train(world().alone(), train, chosen);
    EXPECT_EQ(alone.digest, together.digest);
    EXPECT_EQ(alone.losses, together.losses);
  });
}

/// The next comparison finds a flipped bit and raises an error on every rank.
TEST_F(Training, AFlippedBitIsFoundAtTheNextComparison) {
  struct Case {
    std::uint64_t every, checkpoint_every, found;
  };
  for (const auto& [every, checkpoint_every, found] : {Case{0, 0, 5}, Case{2, 0, 4}, Case{0, 4, 4}}) {
    const Error error = error_after_a_flipped_bit(world(), every, checkpoint_every);
    const std::string text = error.what();
    if (world().size() == 1) {
      EXPECT_EQ(error.category(), Category::usage) << "a rank alone has nothing to compare";
      continue;
    }
    EXPECT_EQ(error.category(), Category::internal) << text;
    if (world().rank() > 0) continue;  // rank 0 reports
    const std::string names = world().size() == 2
                                  ? fmt::format("ranks 0 (host {0}) and 1 (host {0}) ", world().host())
                                  : fmt::format("rank {} (host {}) ", world().size() - 1, world().host());
    EXPECT_TRUE(text.starts_with(fmt::format("after step {}, the parameters of {}differ", found, names)))
        << text;
  }
}

/// A rank that takes longer than the others is reported by all ranks, and no bit changes.
TEST_F(Training, ASlowRankIsReportedAndChangesNoBit) {
  if (world().size() != 2 || std::thread::hardware_concurrency() < 2) return;
  TrainerOptions chosen = test::options();
  chosen.epochs = 1000;
  std::uint64_t steps = 0;
  std::string digest;
  {
    test::Synthetic slow = test::train_set();
    if (world().rank() == 1) {
      slow.change = [](auto&&...) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
    }
    Trainer trainer(world(), test::small_network(), slow, test::test_set(), chosen);
    std::optional<StragglerReport> found;
    trainer.on_event = observer([&](const StragglerReport& report) { found = report; });
    trainer.ask = [&] { return found ? Request::stop : Request::none; };
    trainer.fit();
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->rank, 1);
    EXPECT_EQ(found->host, world().host());
    EXPECT_TRUE(found->steps >= 20 && found->seconds > 1.3 * found->median) << "with its times";
    steps = trainer.step();
    digest = trainer.digest();
  }
  chosen.max_steps = steps;
  Trainer usual(world(), test::small_network(), test::train_set(), test::test_set(), chosen);
  usual.fit();
  EXPECT_EQ(usual.digest(), digest) << "a slow rank changes no bit";
}

TEST_F(Training, ValuesThatFollowFromTheSamplesAreTheSameOnAnyNumberOfRanks) {
  TrainerOptions chosen = options();
  chosen.batch = {.size = by_data<int>, .micro_batches = 8};
  chosen.epochs = by_data<int>;
  chosen.schedule.warmup_epochs = by_data<double>;
  chosen.input = {.mean = by_data<std::vector<double>>, .deviation = by_data<std::vector<double>>};
  const test::Synthetic& train = test::train_set();
  const TrainerOptions together = resolved_by_data(world(), chosen, train);
  EXPECT_EQ(together.batch.size, 32);
  EXPECT_EQ(together.epochs, 60);
  EXPECT_EQ(together.schedule.warmup_epochs, 3.0);
  world().agree([&] {
    if (world().rank() != 0) return;
    EXPECT_EQ(resolved_by_data(world().alone(), chosen, train), together);
    std::vector<std::uint8_t> buffer;
    std::vector<double> values;
    for (std::uint64_t id = 0; id < train.size(); ++id) {
      for (const std::uint8_t byte : train.sample(id, buffer)) values.push_back(byte / 255.0);
    }
    const auto count = static_cast<double>(values.size());
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
    double squares = 0.0;
    for (const double value : values) squares += (value - mean) * (value - mean);
    ASSERT_EQ(together.input.mean.size(), 1U);
    EXPECT_NEAR(together.input.mean[0], mean, 5.1e-5);
    EXPECT_NEAR(together.input.deviation.at(0), std::sqrt(squares / count), 5.1e-5);
  });
  EXPECT_EQ(Trainer(world(), test::small_network(), train, test::test_set(), chosen).steps_per_epoch(), 10U);
  chosen.batch.size = 0;
  expect_error(Category::usage, {}, [&] { resolved_by_data(world(), chosen, train); });
}

TEST_F(Training, AllRanksActOnTheRequestOfOneAtTheSameStep) {
  const AskedRun whole(world(), -1, {}, {});
  EXPECT_TRUE(whole.acts.empty() && whole.asked == 0) << "nobody asks, nobody acts";
  EXPECT_EQ(whole.test_losses.size(), 2U);
  for (int asking = 0; asking < world().size(); ++asking) {
    const AskedRun run(world(), asking, {2, 6, 10}, {3, 5});
    const Acts expected{{2, Request::checkpoint},
                        {3, Request::stop},
                        {5, Request::stop},
                        {6, Request::checkpoint},
                        {10, Request::checkpoint}};
    EXPECT_EQ(run.acts, expected);
    // In addition to 10 steps, `ask` is called in three evaluations; the stop after step 5 abandons the first
    // one.
    EXPECT_TRUE(world().rank() != asking || run.asked == 10 + 3) << "each step has one boundary";
    EXPECT_EQ(run.digest, whole.digest) << "a run that was stopped and continued has the same bits";
    EXPECT_EQ(run.test_losses, whole.test_losses);
  }
}

TEST_F(Training, AveragesThatAreSavedWithinAnEpochAreTheSameOnAnyNumberOfRanks) {
  for (const bool steps : {false, true}) {
    const std::string together = digest_of_saved_averages(world(), steps);
    world().agree([&] {
      if (world().rank() != 0) return;
      EXPECT_EQ(digest_of_saved_averages(world().alone(), steps), together)
          << (steps ? "after steps()" : "after a stop");
    });
  }
}

TEST_F(Training, SharesThatChangeFromStepToStepChangeNoBit) {
  const AskedRun whole(world(), -1, {}, {});
  for (const int threads : {1, 2}) {
    for (const bool weights : {false, true}) {
      TrainerOptions changing = options();
      changing.execution.threads = threads + (world().rank() == 1 ? 1 : 0);
      changing.execution.shares = ShareRule::changing;
      if (weights) changing.execution.rank_weights.assign(static_cast<std::size_t>(world().size()), 1.0);
      const AskedRun run(world(), -1, {}, {}, changing);
      EXPECT_EQ(run.digest, whole.digest);
      EXPECT_EQ(run.test_losses, whole.test_losses);
    }
  }
}

}  // namespace
}  // namespace lockstep
