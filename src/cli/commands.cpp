#include "cli/commands.h"

#include <unistd.h>

#include <algorithm>

#include "cli/output.h"
#include "comm/world/check_same.h"
#include "comm/world/launch.h"

namespace lockstep {

const std::vector<Command>& commands() {
  static const std::vector<Command> all{
      {"train", "train a model on all ranks", run_train, describe_train},
      {"eval", "measure a saved model on a data set", run_eval, describe_eval},
      {"predict", "predict classes with a saved model", run_predict, describe_predict},
      {"bench", "measure training steps, operations, reading and the exchange of gradients", run_bench,
       describe_bench},
      {"doctor", "check this machine and how ranks are started", run_doctor, describe_doctor},
      {"inspect", "show a model file, a checkpoint or a network; check checkpoints", run_inspect,
       describe_inspect, true},
      {"data", "show a data set, its statistics or its order", run_data, describe_data},
      {"data pack", "pack a folder of images into a few files that are read faster", run_data_pack,
       describe_data_pack},
      {"recipes", "list or print the recipes for training", run_recipes, describe_recipes, true},
      {"report", "write report.html from a run directory", run_report, describe_report, true},
      {"diff", "compare the records of two runs", run_diff, describe_diff, true},
      {"export", "write a saved model as an ONNX model", run_export, describe_export, true},
      {"import", "write the network and the weights of an ONNX model", run_import, describe_import, true},
      {"completion", "print a script that completes commands and options in a shell", run_completion,
       describe_completion, true},
      {"man", "print the manual page of a command", run_man, describe_man, true},
  };
  return all;
}

const Command* find_command(std::span<char* const> words) {
  const Command* found = nullptr;
  std::string name;
  for (const char* const word : words.first(std::min<std::size_t>(words.size(), 2))) {
    name += (name.empty() ? "" : " ") + std::string(word);
    for (const Command& command : commands()) {
      if (command.name == name) found = &command;
    }
  }
  return found;
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

bool is_first_process() { return read_launch().rank == 0; }

}  // namespace lockstep
