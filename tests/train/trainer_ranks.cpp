// Trainings on real processes: a run continues from any step, and all ranks act on the request of one of them
// at the same step.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "lockstep/error.h"
#include "lockstep/sampler.h"
#include "lockstep/trainer.h"
#include "support/ranks_test.h"
#include "support/shared_folder.h"
#include "train/evaluator.h"
#include "train/loop/epoch_loop.h"
#include "train/phases.h"
#include "train/poisoned.h"

namespace lockstep {
namespace {

class Training : public test::RanksTest {};

TrainerOptions options() {
  TrainerOptions options = test::augmented(test::options());  // two epochs of five steps
  options.model_ema = true;
  options.model_ema_decay = 0.9;
  return options;
}

/// Request, with the number of steps after which it was acted on.
struct Act {
  std::uint64_t steps = 0;
  Request request = Request::none;
  bool operator==(const Act&) const = default;
};

/// Run in which rank `asking` makes requests at some step boundaries. It continues after each stop.
struct AskedRun {
  std::string digest;
  std::vector<Act> acts;
  std::vector<double> test_losses;
  std::uint64_t asked = 0;

  AskedRun(const World& world, int asking, const std::set<std::uint64_t>& checkpoints,
           const std::set<std::uint64_t>& stops, const TrainerOptions& chosen = options()) {
    const auto network = test::small_network();
    Trainer trainer(world, *network, test::train_set(), test::test_set(), chosen);
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
    trainer.act = [&](Request request) { acts.push_back({steps, request}); };
    for (std::size_t i = 0; i <= stops.size(); ++i) trainer.fit();
    digest = trainer.digest();
  }
};

void check_same_on_all_ranks(const World& world, const AskedRun& run) {
  const auto bytes = std::as_bytes(std::span(run.acts));
  const std::vector<std::byte> first = world.broadcast(bytes);
  EXPECT_TRUE(std::ranges::equal(first, bytes)) << "all ranks act on the same requests at the same steps";
}

/// Lines of the epochs of a run.
struct Epochs {
  std::vector<double> losses;  ///< of training and test
  std::string digest;

  void add(const EpochReport& report) {
    losses.push_back(report.train.loss);
    losses.push_back(report.test.loss);
  }
  void observe(Trainer& trainer) {
    trainer.on_event = observer([this](const EpochReport& report) { add(report); });
  }
};

Epochs whole_run(const World& world, const TrainerOptions& chosen) {
  const auto network = test::network_with_batch_norm();
  Trainer trainer(world, *network, test::train_set(), test::test_set(), chosen);
  Epochs epochs;
  epochs.observe(trainer);
  trainer.fit();
  epochs.digest = trainer.digest();
  return epochs;
}

/// Trains until a stop after `step` steps, with checkpoints in `folder`.
void train_until(const World& world, std::uint64_t step, const std::filesystem::path& folder,
                 const TrainerOptions& chosen, Epochs& epochs) {
  const auto network = test::network_with_batch_norm();
  Trainer trainer(world, *network, test::train_set(), test::test_set(), chosen);
  trainer.ask = [&] { return trainer.step() == step ? Request::stop : Request::none; };
  std::vector<std::uint64_t> written;
  trainer.on_event = observer([&](const EpochReport& report) { epochs.add(report); },
                              [&](const CheckpointReport& report) {
                                EXPECT_TRUE(report.failure.empty()) << report.failure;
                                written.push_back(report.step);
                              });
  trainer.write_checkpoints(folder, {.every = {.steps = 3}, .keep = 100});
  trainer.fit();
  if (world.rank() != 0) return;
  EXPECT_EQ(written.back(), step) << "a stopped run has a checkpoint of its last step";
  EXPECT_EQ(std::ranges::count(written, step), 1) << "and not two";
}

/// Continues a run from a checkpoint.
void continue_from(const World& world, const std::filesystem::path& checkpoint, const TrainerOptions& chosen,
                   Epochs& epochs) {
  const auto network = test::network_with_batch_norm();
  Trainer trainer(world, *network, test::train_set(), test::test_set(), chosen);
  epochs.observe(trainer);
  const auto remarks = trainer.resume(checkpoint);
  EXPECT_TRUE(remarks.empty()) << "nothing has changed";
  trainer.fit();
  epochs.digest = trainer.digest();
  EXPECT_TRUE(trainer.done()) << "a finished run has nothing to do";
}

std::filesystem::path checkpoint_of(const std::filesystem::path& folder, std::uint64_t step) {
  std::string number = std::to_string(step);
  return folder / ("step-" + std::string(8 - number.size(), '0') + number);
}

/// Stops a run at `step`, on all ranks, and continues it on all ranks and on one.
void check_resume(const World& world, const TrainerOptions& chosen, std::uint64_t step) {
  const test::SharedFolder folder(world);
  const Epochs whole = whole_run(world, chosen);
  Epochs interrupted;
  train_until(world, step, folder.path(), chosen, interrupted);
  Epochs resumed = interrupted;
  continue_from(world, checkpoint_of(folder.path(), step), chosen, resumed);
  EXPECT_EQ(resumed.digest, whole.digest) << "a resumed run has the same bits";
  EXPECT_EQ(resumed.losses, whole.losses) << "and the same reports";
  world.agree([&] {
    if (world.rank() != 0 || chosen.reduce == Reduce::ring) return;
    const World alone = world.alone();
    Epochs on_one = interrupted;
    continue_from(alone, checkpoint_of(folder.path(), step), chosen, on_one);
    EXPECT_EQ(on_one.digest, whole.digest) << "a run that continues on one rank has the same bits";
    EXPECT_EQ(on_one.losses, whole.losses) << "and the same reports";
  });
  const Error error = [&] {
    TrainerOptions changed = chosen;
    changed.label_smoothing = 0.1;
    Epochs none;
    try {
      continue_from(world, checkpoint_of(folder.path(), step), changed, none);
    } catch (const Error& thrown) {
      return thrown;
    }
    return Error(Category::internal, "nothing was thrown");
  }();
  EXPECT_EQ(error.category(), Category::usage) << "another option is refused";
}

/// Runs with all states that a checkpoint holds.
TEST_F(Training, ContinuesFromACheckpointOnAnyNumberOfRanks) {
  TrainerOptions chosen = options();  // augmentation, mixup and averages; 2 epochs of 5 steps
  check_resume(world(), chosen, 3);
  chosen.optimizer = {.name = "adamw"};
  chosen.learning_rate = 0.01;
  chosen.early_stopping = 1;
  check_resume(world(), chosen, 5);
  chosen.optimizer = {.name = "lamb", .clip_grad = 1.0};
  chosen.model_ema = false;
  chosen.model_ema_decay = TrainerOptions().model_ema_decay;
  chosen.drop_last = true;
  check_resume(world(), chosen, 6);
  chosen.optimizer = {.name = "lars"};
  chosen.reduce = Reduce::ring;
  check_resume(world(), chosen, 7);
}

/// Parts of a run, so that a test can change parameters between steps.
struct Parts : test::Phases {
  const World& world;
  Evaluator evaluator;
  std::function<void(const StepReport&)> on_step = {};
  RunHooks hooks = {};
  EpochLoop loop;

  Parts(const World& of, const TrainerOptions& chosen)
      : test::Phases(of, chosen),
        world(of),
        evaluator(session, *graph, test::test_set(), run.micro_batch(), state.results(), run.options.input,
                  1),
        loop({.session = session, .run = run, .steps = steps, .state = state, .hooks = hooks}, evaluator,
             nullptr) {
    hooks.on_event = observer([this](const StepReport& report) {
      if (on_step) on_step(report);
    });
  }

  /// Calls `change` after step `step`, while no rank computes.
  void after(std::uint64_t step, const std::function<void()>& change) {
    on_step = [this, step, change, before = on_step](const StepReport& report) {
      if (before) before(report);
      if (report.step != step) return;
      world.barrier();
      change();
      world.barrier();
    };
  }
  Error error_of_run() {
    try {
      while (!loop.position().done()) loop.run_epoch();
    } catch (const Error& error) {
      return error;
    }
    return {Category::usage, fmt::format("nothing was thrown in {} steps", state.progress.step)};
  }
};

/// Run in which the last rank flips a bit of its own copy of the parameters after `flip` steps. Returns the
/// error.
Error error_after_a_flipped_bit(const World& world, std::uint64_t flip, std::uint64_t every) {
  TrainerOptions chosen = test::options();
  chosen.reduce = Reduce::ring;  // each rank has a copy of its own
  chosen.check_replicas_every = every;
  Parts parts(world, chosen);
  parts.after(flip, [&] {
    float& value = parts.state.parameters()[5];
    if (world.rank() < world.size() - 1) return;
    value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ 1U);
  });
  return parts.error_of_run();
}

/// Run with steps 3 and 4 that have no finite loss, as a parameter is not finite before them and is restored
/// after them.
struct DisturbedRun {
  Parts parts;
  float saved = 0.0F;
  std::vector<NotFiniteReport> reports;
  std::vector<std::uint64_t> skipped_steps;
  Error error{Category::usage, ""};
  std::string digest;

  DisturbedRun(const World& world, const TrainerOptions& chosen) : parts(world, chosen) {
    float& bias = parts.state.parameters()[parts.run.layout.offsets.back()];
    parts.hooks.on_event = observer(
        [this](const StepReport& report) {
          if (parts.on_step) parts.on_step(report);
        },
        [this](const NotFiniteReport& report) { reports.push_back(report); },
        [this](const EpochReport& epoch) { skipped_steps.push_back(epoch.skipped_steps); });
    parts.after(2, [this, &bias] { saved = bias; });  // before any rank changes the parameters they may share
    parts.after(2, [&bias] { bias = std::numeric_limits<float>::infinity(); });
    parts.after(4, [this, &bias] { bias = saved; });
    error = parts.error_of_run();
    digest = parts.state.digest();
  }
};

TEST_F(Training, StepsThatAreNotFiniteEndTheRunOrAreSkipped) {
  TrainerOptions chosen = options();
  const std::string untouched = whole_run(world(), chosen).digest;
  const DisturbedRun stopped(world(), chosen);
  EXPECT_EQ(stopped.error.category(), Category::data) << "by default, a loss that is not finite ends the run";
  ASSERT_EQ(stopped.reports.size(), 1U);
  EXPECT_EQ(stopped.reports[0].step, 3U);
  chosen.on_nan = OnNan::skip;
  EXPECT_EQ(whole_run(world(), chosen).digest, untouched)
      << "without such a step, both ways give the same bits";
  const DisturbedRun skipped(world(), chosen);
  EXPECT_EQ(skipped.error.category(), Category::usage) << skipped.error.what();
  ASSERT_EQ(skipped.reports.size(), 2U);
  EXPECT_EQ(skipped.reports[0].step, 3U);
  EXPECT_EQ(skipped.reports[1].step, 4U);
  EXPECT_EQ(skipped.skipped_steps, (std::vector<std::uint64_t>{2, 0}))
      << "both are in the record of the epoch";
  const std::vector<std::uint64_t>& samples = skipped.reports[0].samples;
  const Permutation order(300, chosen.seed, 0);
  ASSERT_TRUE(samples.size() == 64 && samples[0] == order(128) && samples[63] == order(191))
      << "the samples are those of the step";
  world().agree([&] {
    if (world().rank() != 0) return;
    const World alone = world().alone();
    const DisturbedRun on_one(alone, chosen);
    EXPECT_EQ(on_one.digest, skipped.digest) << "skipped steps leave the same bits on any number of ranks";
  });
  chosen.batch.size = 16;  // 19 steps per epoch
  Parts lost(world(), chosen);
  lost.after(2, [&] {
    lost.state.parameters()[lost.run.layout.offsets.back()] = std::numeric_limits<float>::infinity();
  });
  const Error error = lost.error_of_run();
  EXPECT_EQ(error.category(), Category::data) << error.what();
  EXPECT_TRUE(world().rank() > 0 ||
              std::string(error.what()).starts_with("10 steps in a row, up to step 12,"))
      << error.what();
}

/// A run that returns to a checkpoint, is stopped after that, and continues, has the same bits on any number
/// of ranks.
TEST_F(Training, RollbacksHaveTheSameBitsOnAnyNumberOfRanks) {
  const test::Poisoned train({test::sample_of_step(3), test::sample_of_step(5)});
  const TrainerOptions chosen = test::poisoned_options(OnNan::rollback);
  const CheckpointOptions checkpoints{.every = {.steps = 2}};
  const test::SharedFolder folder(world());
  test::PoisonedRun run;
  run.train(world(), train, chosen, folder.path(), checkpoints, {}, 4);
  EXPECT_EQ(run.returns(), "3>2");
  world().agree([&] {
    if (world().rank() != 0) return;
    const World alone = world().alone();
    const test::SharedFolder other(alone);
    test::PoisonedRun whole;
    whole.train(alone, train, chosen, other.path(), checkpoints);
    test::PoisonedRun rest = run;
    rest.train(alone, train, chosen, folder.path(), checkpoints, checkpoint_of(folder.path(), 4));
    EXPECT_EQ(rest.returns(), whole.returns());
    EXPECT_EQ(rest.digest, whole.digest) << "a run after a rollback continues with the same bits on one rank";
    EXPECT_EQ(rest.losses, whole.losses) << "and the same reports";
    run.digest = whole.digest;
  });
  const test::SharedFolder again(world());
  test::PoisonedRun together;
  together.train(world(), train, chosen, again.path(), checkpoints);
  EXPECT_TRUE(world().rank() != 0 || together.digest == run.digest)
      << "rollbacks are the same on any number of ranks";
}

/// A flipped bit is found at the next comparison, which every rank leaves with an error.
TEST_F(Training, AFlippedBitIsFoundAtTheNextComparison) {
  for (const std::uint64_t every : {0, 2}) {
    const Error error = error_after_a_flipped_bit(world(), 3, every);
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
    const std::uint64_t found = every == 0 ? 5 : 4;  // the end of the epoch, or the next comparison
    EXPECT_TRUE(text.starts_with(fmt::format("after step {}, the parameters of {}differ", found, names)))
        << text;
  }
}

/// The training set, of which one rank reads each sample in a millisecond.
class SlowlyRead : public test::Synthetic {
 public:
  explicit SlowlyRead(bool slow) : Synthetic(300, {1, 12, 12}, 4), slow_(slow) {}
  std::span<const std::uint8_t> sample(std::uint64_t id, std::vector<std::uint8_t>& buffer) const override {
    if (slow_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Synthetic::sample(id, buffer);
  }
  std::string fingerprint() const override { return test::train_set().fingerprint(); }

 private:
  bool slow_;
};

/// A rank that takes longer than the others is reported by all ranks, and no bit changes.
TEST_F(Training, ASlowRankIsReportedAndChangesNoBit) {
  if (world().size() != 2 || std::thread::hardware_concurrency() < 2) return;
  TrainerOptions chosen = test::options();
  chosen.epochs = 1000;
  const auto network = test::small_network();
  std::uint64_t steps = 0;
  std::string digest;
  {
    const SlowlyRead slow(world().rank() == 1);
    Trainer trainer(world(), *network, slow, test::test_set(), chosen);
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
  Trainer usual(world(), *network, test::train_set(), test::test_set(), chosen);
  usual.fit();
  EXPECT_EQ(usual.digest(), digest) << "a slow rank changes no bit";
}

TEST_F(Training, AllRanksActOnTheRequestOfOneAtTheSameStep) {
  const AskedRun whole(world(), -1, {}, {});
  EXPECT_TRUE(whole.acts.empty() && whole.asked == 0) << "nobody asks, nobody acts";
  EXPECT_EQ(whole.test_losses.size(), 2U);
  for (int asking = 0; asking < world().size(); ++asking) {
    const AskedRun run(world(), asking, {2, 6, 10}, {3, 5});
    check_same_on_all_ranks(world(), run);
    const std::vector<Act> expected{{2, Request::checkpoint},
                                    {3, Request::stop},
                                    {5, Request::stop},
                                    {6, Request::checkpoint},
                                    {10, Request::checkpoint}};
    EXPECT_EQ(run.acts, expected);
    // And the three evaluations, of which the first is abandoned for the stop after step 5.
    EXPECT_TRUE(world().rank() != asking || run.asked == 10 + 3) << "each step has one boundary";
    EXPECT_EQ(run.digest, whole.digest) << "a run that was stopped and continued has the same bits";
    EXPECT_EQ(run.test_losses, whole.test_losses);
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
