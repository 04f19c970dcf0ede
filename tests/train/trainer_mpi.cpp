// Real processes: a run continues from any step, and all ranks act on the request of one of them at the same
// step. Ends with status 0 or with the line of the first check that failed.
#include <stdlib.h>

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
#include <system_error>
#include <thread>
#include <vector>

#include "lockstep/error.h"
#include "lockstep/sampler.h"
#include "lockstep/trainer.h"
#include "train/epoch_loop.h"
#include "train/evaluator.h"
#include "train/poisoned.h"
#include "train/run.h"
#include "train/session/session.h"
#include "train/small_run.h"
#include "train/step/training_steps.h"
#include "train/training_state.h"

namespace lockstep {
namespace {

void expect(bool holds, const std::string& what) {
  if (!holds) throw Error(Category::internal, "check failed: " + what);
}

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
    trainer.on_step = [&](const StepReport& report) { steps = report.step; };
    trainer.on_epoch = [&](const EpochReport& report) { test_losses.push_back(report.test.loss); };
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
  expect(std::ranges::equal(first, bytes), "all ranks act on the same requests at the same steps");
}

/// Folder that all ranks share, removed at the end.
class SharedFolder {
 public:
  explicit SharedFolder(const World& world) : world_(world) {
    std::string name = (std::filesystem::temp_directory_path() / "lockstep-XXXXXX").string();
    if (world.rank() == 0) expect(mkdtemp(name.data()) != nullptr, "a temporary folder");
    const std::vector<std::byte> bytes = world.broadcast(std::as_bytes(std::span(name)));
    path_ = std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  ~SharedFolder() {
    std::error_code ignored;
    if (world_.rank() == 0) std::filesystem::remove_all(path_, ignored);
  }
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  const World& world_;
  std::filesystem::path path_;
};

/// Lines of the epochs of a run.
struct Epochs {
  std::vector<double> losses;  ///< of training and test
  std::string digest;

  void observe(Trainer& trainer) {
    trainer.on_epoch = [this](const EpochReport& report) {
      losses.push_back(report.train.loss);
      losses.push_back(report.test.loss);
    };
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
  epochs.observe(trainer);
  trainer.ask = [&] { return trainer.step() == step ? Request::stop : Request::none; };
  std::vector<std::uint64_t> written;
  trainer.on_checkpoint = [&](const CheckpointReport& report) {
    expect(report.failure.empty(), report.failure);
    written.push_back(report.step);
  };
  trainer.write_checkpoints(folder, {.every = {.steps = 3}, .keep = 100});
  trainer.fit();
  if (world.rank() != 0) return;
  expect(written.back() == step, "a stopped run has a checkpoint of its last step");
  expect(std::ranges::count(written, step) == 1, "and not two");
}

/// Continues a run from a checkpoint.
void continue_from(const World& world, const std::filesystem::path& checkpoint, const TrainerOptions& chosen,
                   Epochs& epochs) {
  const auto network = test::network_with_batch_norm();
  Trainer trainer(world, *network, test::train_set(), test::test_set(), chosen);
  epochs.observe(trainer);
  const auto remarks = trainer.resume(checkpoint);
  expect(remarks.empty(), "nothing has changed");
  trainer.fit();
  epochs.digest = trainer.digest();
  expect(trainer.done(), "a finished run has nothing to do");
}

std::filesystem::path checkpoint_of(const std::filesystem::path& folder, std::uint64_t step) {
  std::string number = std::to_string(step);
  return folder / ("step-" + std::string(8 - number.size(), '0') + number);
}

/// Stops a run at `step`, on all ranks, and continues it on all ranks and on one.
void check_resume(const World& world, const TrainerOptions& chosen, std::uint64_t step) {
  const SharedFolder folder(world);
  const Epochs whole = whole_run(world, chosen);
  Epochs interrupted;
  train_until(world, step, folder.path(), chosen, interrupted);
  Epochs resumed = interrupted;
  continue_from(world, checkpoint_of(folder.path(), step), chosen, resumed);
  expect(resumed.digest == whole.digest, "a resumed run has the same bits");
  expect(resumed.losses == whole.losses, "and the same reports");
  world.agree([&] {
    if (world.rank() != 0 || chosen.reduce == Reduce::ring) return;
    const World alone = world.alone();
    Epochs on_one = interrupted;
    continue_from(alone, checkpoint_of(folder.path(), step), chosen, on_one);
    expect(on_one.digest == whole.digest, "a run that goes on with one rank has the same bits");
    expect(on_one.losses == whole.losses, "and the same reports");
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
  expect(error.category() == Category::usage, "another option is refused");
}

/// Runs with all states that a checkpoint holds.
void check_checkpoints(const World& world) {
  TrainerOptions chosen = options();  // augmentation, mixup and averages; 2 epochs of 5 steps
  check_resume(world, chosen, 3);
  chosen.optimizer = {.name = "adamw"};
  chosen.learning_rate = 0.01;
  chosen.early_stopping = 1;
  check_resume(world, chosen, 5);
  chosen.optimizer = {.name = "lamb", .clip_grad = 1.0};
  chosen.model_ema = false;
  chosen.model_ema_decay = TrainerOptions().model_ema_decay;
  chosen.drop_last = true;
  check_resume(world, chosen, 6);
  chosen.optimizer = {.name = "lars"};
  chosen.reduce = Reduce::ring;
  check_resume(world, chosen, 7);
}

/// Parts of a run, so that a test can change parameters between steps.
struct Parts {
  const World& world;
  std::unique_ptr<Network> network = test::small_network();
  Placement placement;
  Run run;
  Session session;
  std::unique_ptr<CompiledGraph> graph;
  TrainingState state;
  TrainingSteps steps;
  Evaluator evaluator;
  std::function<void(const StepReport&)> on_step = {};
  std::function<void(const EpochReport&)> on_epoch = {};
  std::function<void(const DigestReport&)> on_digest = {};
  std::function<void(const StragglerReport&)> on_straggler = {};
  std::function<void(const NotFiniteReport&)> on_not_finite = {};
  std::function<Request()> ask = {};
  std::function<void(Request)> act = {};
  EpochLoop loop;

  Parts(const World& of, const TrainerOptions& chosen)
      : world(of),
        placement(find_placement(world, chosen.execution, chosen.reduce)),
        run(check_run(world, placement, *network, test::train_set(), test::test_set(), chosen)),
        session(world, placement, run.options.execution),
        graph(session.backend().compile(build_graph(*network), run.layout,
                                        {.samples = static_cast<int>(run.micro_batch())})),
        state(session, run),
        steps(session, run, *graph, state),
        evaluator(session, *graph, test::test_set(), run.micro_batch(), state.results(), run.options.input,
                  1),
        loop(session, run, steps, evaluator, nullptr, state,
             {on_step, on_epoch, on_digest, on_straggler, on_not_finite, ask, act}) {}

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
      while (!loop.done()) loop.run_epoch();
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
    parts.on_not_finite = [this](const NotFiniteReport& report) { reports.push_back(report); };
    parts.on_epoch = [this](const EpochReport& epoch) { skipped_steps.push_back(epoch.skipped_steps); };
    parts.after(2, [this, &bias] { saved = bias; });  // before any rank changes the parameters they may share
    parts.after(2, [&bias] { bias = std::numeric_limits<float>::infinity(); });
    parts.after(4, [this, &bias] { bias = saved; });
    error = parts.error_of_run();
    digest = parts.state.digest();
  }
};

void check_skipped_steps(const World& world) {
  TrainerOptions chosen = options();
  const std::string untouched = whole_run(world, chosen).digest;
  const DisturbedRun stopped(world, chosen);
  expect(stopped.error.category() == Category::data, "by default, a loss that is not finite ends the run");
  expect(stopped.reports.size() == 1 && stopped.reports[0].step == 3, "step 3 is reported");
  chosen.on_nan = OnNan::skip;
  expect(whole_run(world, chosen).digest == untouched, "without such a step, both ways give the same bits");
  const DisturbedRun skipped(world, chosen);
  expect(skipped.error.category() == Category::usage, skipped.error.what());
  expect(skipped.reports.size() == 2 && skipped.reports[0].step == 3 && skipped.reports[1].step == 4,
         "steps 3 and 4 are reported");
  expect(skipped.skipped_steps == std::vector<std::uint64_t>{2, 0}, "both are in the record of the epoch");
  const std::vector<std::uint64_t>& samples = skipped.reports[0].samples;
  const Permutation order(300, chosen.seed, 0);
  expect(samples.size() == 64 && samples[0] == order(128) && samples[63] == order(191),
         "the samples are those of the step");
  world.agree([&] {
    if (world.rank() != 0) return;
    const World alone = world.alone();
    const DisturbedRun on_one(alone, chosen);
    expect(on_one.digest == skipped.digest, "skipped steps leave the same bits on any number of ranks");
  });
  chosen.batch.size = 16;  // 19 steps per epoch
  Parts lost(world, chosen);
  lost.after(2, [&] {
    lost.state.parameters()[lost.run.layout.offsets.back()] = std::numeric_limits<float>::infinity();
  });
  const Error error = lost.error_of_run();
  expect(error.category() == Category::data, error.what());
  expect(world.rank() > 0 || std::string(error.what()).starts_with("10 steps in a row, up to step 12,"),
         error.what());
}

/// A run that goes back to a checkpoint, is stopped after that, and goes on, has the same bits on any number
/// of ranks.
void check_rollback(const World& world) {
  const test::Poisoned train({test::sample_of_step(3), test::sample_of_step(5)});
  const TrainerOptions chosen = test::poisoned_options(OnNan::rollback);
  const CheckpointOptions checkpoints{.every = {.steps = 2}};
  const SharedFolder folder(world);
  test::PoisonedRun run;
  run.train(world, train, chosen, folder.path(), checkpoints, {}, 4);
  expect(run.returns() == "3>2", run.returns());
  world.agree([&] {
    if (world.rank() != 0) return;
    const World alone = world.alone();
    const SharedFolder other(alone);
    test::PoisonedRun whole;
    whole.train(alone, train, chosen, other.path(), checkpoints);
    test::PoisonedRun rest = run;
    rest.train(alone, train, chosen, folder.path(), checkpoints, checkpoint_of(folder.path(), 4));
    expect(rest.returns() == whole.returns(), rest.returns() + " instead of " + whole.returns());
    expect(rest.digest == whole.digest, "a run after a rollback goes on with the same bits on one rank");
    expect(rest.losses == whole.losses, "and the same reports");
    run.digest = whole.digest;
  });
  const SharedFolder again(world);
  test::PoisonedRun together;
  together.train(world, train, chosen, again.path(), checkpoints);
  expect(world.rank() != 0 || together.digest == run.digest, "rollbacks are the same on any number of ranks");
}

/// A flipped bit is found at the next comparison, which every rank leaves with an error.
void check_flipped_bits(const World& world) {
  for (const std::uint64_t every : {0, 2}) {
    const Error error = error_after_a_flipped_bit(world, 3, every);
    const std::string text = error.what();
    if (world.size() == 1) {
      expect(error.category() == Category::usage, "a rank alone has nothing to compare");
      continue;
    }
    expect(error.category() == Category::internal, text);
    if (world.rank() > 0) continue;  // rank 0 tells
    const std::string names = world.size() == 2
                                  ? fmt::format("ranks 0 (host {0}) and 1 (host {0}) ", world.host())
                                  : fmt::format("rank {} (host {}) ", world.size() - 1, world.host());
    const std::uint64_t found = every == 0 ? 5 : 4;  // the end of the epoch, or the next comparison
    expect(text.starts_with(fmt::format("after step {}, the parameters of {}differ", found, names)), text);
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
void check_stragglers(const World& world) {
  if (world.size() != 2 || std::thread::hardware_concurrency() < 2) return;
  TrainerOptions chosen = test::options();
  chosen.epochs = 1000;
  const auto network = test::small_network();
  std::uint64_t steps = 0;
  std::string digest;
  {
    const SlowlyRead slow(world.rank() == 1);
    Trainer trainer(world, *network, slow, test::test_set(), chosen);
    std::optional<StragglerReport> found;
    trainer.on_straggler = [&](const StragglerReport& report) { found = report; };
    trainer.ask = [&] { return found ? Request::stop : Request::none; };
    trainer.fit();
    expect(found.has_value(), "a slow rank is found");
    expect(found->rank == 1 && found->host == world.host(), fmt::format("not rank {}", found->rank));
    expect(found->steps >= 20 && found->seconds > 1.3 * found->median, "with its times");
    steps = trainer.step();
    digest = trainer.digest();
  }
  chosen.max_steps = steps;
  Trainer usual(world, *network, test::train_set(), test::test_set(), chosen);
  usual.fit();
  expect(usual.digest() == digest, "a slow rank changes no bit");
}

int check_all(World& world) {
  check_stragglers(world);
  check_flipped_bits(world);
  check_skipped_steps(world);
  check_rollback(world);
  check_checkpoints(world);
  const AskedRun whole(world, -1, {}, {});
  expect(whole.acts.empty() && whole.asked == 0, "nobody asks, nobody acts");
  expect(whole.test_losses.size() == 2, "two epochs");
  for (int asking = 0; asking < world.size(); ++asking) {
    const AskedRun run(world, asking, {2, 6, 10}, {3, 5});
    check_same_on_all_ranks(world, run);
    const std::vector<Act> expected{{2, Request::checkpoint},
                                    {3, Request::stop},
                                    {5, Request::stop},
                                    {6, Request::checkpoint},
                                    {10, Request::checkpoint}};
    expect(run.acts == expected, "requests are acted on where they were made");
    // And the three evaluations, of which the first is abandoned for the stop after step 5.
    expect(world.rank() != asking || run.asked == 10 + 3, "each step has one boundary");
    expect(run.digest == whole.digest, "a run that was stopped and went on has the same bits");
    expect(run.test_losses == whole.test_losses, "and the same reports");
  }
  for (const int threads : {1, 2}) {
    for (const bool weights : {false, true}) {
      TrainerOptions changing = options();
      changing.execution.threads = threads + (world.rank() == 1 ? 1 : 0);
      changing.execution.shares = ShareRule::changing;
      if (weights) changing.execution.rank_weights.assign(static_cast<std::size_t>(world.size()), 1.0);
      const AskedRun run(world, -1, {}, {}, changing);
      expect(run.digest == whole.digest, "shares that change from step to step change no bit");
      expect(run.test_losses == whole.test_losses, "nor a report");
    }
  }
  return 0;
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  return lockstep::run_program(argc, argv, [](lockstep::World& world) { return lockstep::check_all(world); });
}
