#include <csignal>
#include <utility>

#include "cli/commands.h"
#include "cli/train/run_place.h"
#include "cli/train/stop_line.h"
#include "cli/train/train_options.h"
#include "cli/train/training_run.h"
#include "core/message.h"

namespace lockstep {

namespace {

int run_train(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed stdout fails a write, but does not end the run
  std::signal(SIGXFSZ, SIG_IGN);  // neither does a limit on the size of files
  TrainOptions options;
  OptionSet set = train_option_set(options);
  StopRequests stops;
  return run_on_ranks(set, argc, argv, [&](World& world) {
    Environment environment = this_environment();  // before the trainer binds this thread to a core
    environment.command_line.assign(argv, argv + argc);
    stops.set_limit(options.max_time, seconds_before_this_start());
    if (stops.is_over_before_start()) {
      if (world.rank() == 0) {
        print_message(too_late_line(start_command(environment.command_line), options.max_time,
                                    seconds_before_this_start(), options.resume));
      }
      return static_cast<int>(Category::stopped);
    }
    return TrainingRun(world, options, stops, std::move(environment))();
  });
}

}  // namespace

constinit const Command train_command{"train", "train a model on all ranks", run_train,
                                      describe<TrainOptions, train_option_set>};

}  // namespace lockstep
