#include "train/run.h"

#include "data/feed/transform.h"
#include "lockstep/world.h"
#include "train/check_options.h"

namespace lockstep {

EpochSteps steps_of_epoch(const TrainerOptions& options, std::uint64_t samples) {
  const auto batch = static_cast<std::uint64_t>(options.batch.size);
  return {.steps = options.drop_last ? samples / batch : (samples + batch - 1) / batch,
          .batch = batch,
          .samples = samples};
}

Run check_run(const World& world, const Placement& placement, const Network& network, const Dataset& train,
              const Dataset& test, const TrainerOptions& options) {
  Run run{.network = network,
          .train = train,
          .test = test,
          .options = resolved_by_data(world, options, train),
          .layout = layout_arena(network.parameters()),
          .epoch = {}};
  run.options.execution.device = placement.device;
  world.agree([&] {
    run.options.batch.micro_batches = micro_batches_of(run.options.batch, placement.common_device());
    check_options(run.options, world.size(), train.size());
    check_input(run.options.input, train.encoding());
    check_part(network, train, train, "training data");
    check_part(network, train, test, "test data");
    const Transform checked(run.options.input, train, options.augment, options.seed);
    run.epoch = steps_of_epoch(run.options, train.size());
  });
  return run;
}

}  // namespace lockstep
