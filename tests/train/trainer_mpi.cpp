// Real processes: a run continues from any step, and all ranks act on the request of one of them at the same
// step. Ends with status 0 or with the line of the first check that failed.
#include <algorithm>
#include <set>
#include <span>
#include <string>

#include "lockstep/error.h"
#include "lockstep/trainer.h"
#include "train/small_run.h"

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
struct Run {
  std::string digest;
  std::vector<Act> acts;
  std::vector<double> test_losses;
  std::uint64_t asked = 0;

  Run(const World& world, int asking, const std::set<std::uint64_t>& checkpoints,
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

void check_same_on_all_ranks(const World& world, const Run& run) {
  const auto bytes = std::as_bytes(std::span(run.acts));
  const std::vector<std::byte> first = world.broadcast(bytes);
  expect(std::ranges::equal(first, bytes), "all ranks act on the same requests at the same steps");
}

int check_all(World& world) {
  const Run whole(world, -1, {}, {});
  expect(whole.acts.empty() && whole.asked == 0, "nobody asks, nobody acts");
  expect(whole.test_losses.size() == 2, "two epochs");
  for (int asking = 0; asking < world.size(); ++asking) {
    const Run run(world, asking, {2, 6, 10}, {3, 5});
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
      const Run run(world, -1, {}, {}, changing);
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
