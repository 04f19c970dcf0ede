#include "cli/commands.h"

#include <unistd.h>

#include <cstdlib>

#include "cli/output.h"
#include "comm/world/check_same.h"
#include "comm/world/launch.h"

namespace lockstep {

const std::vector<Command>& commands() {
  static const std::vector<Command> all{
      {"train", "train a model on all ranks", run_train},
      {"eval", "measure a saved model on a data set", run_eval},
      {"bench", "measure training steps, operations, reading and the exchange of gradients", run_bench},
      {"doctor", "check this machine and how ranks are started", run_doctor},
      {"inspect", "show a model file, a checkpoint or a network; check checkpoints", run_inspect},
      {"data", "show a data set, its statistics or its order; pack images", run_data},
      {"report", "write report.html from a run directory", run_report},
      {"diff", "compare the records of two runs", run_diff},
  };
  return all;
}

int print_help(const std::string& text) {
  if (is_first_process()) {
    print(text);
  }
  return 0;
}

int run_on_ranks(OptionSet& set, int argc, char** argv, const std::function<int(World&)>& body) {
  if (wants_help(argc, argv)) return print_help(set.help());
  return run_program(argc, argv, [&](World& world) {
    return set.explain([&] {
      world.agree([&] { set.parse(argc, argv, environ); });
      check_same(world, set.lines_to_compare());
      return body(world);
    });
  });
}

bool is_first_process() {
  return read_launch([](const char* name) { return std::getenv(name); }).rank == 0;
}

}  // namespace lockstep
