#include "cli/commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "cli/output.h"
#include "comm/world/check_same.h"
#include "comm/world/launch.h"
#include "core/process/launcher_report.h"
#include "core/text/message.h"
#include "core/text/printable.h"
#include "core/text/split.h"

namespace lockstep {

const std::vector<Command>& commands() {
  static const std::vector<Command> all{
      train_command,   eval_command,   predict_command,   bench_command,      doctor_command,
      inspect_command, data_command,   data_pack_command, recipes_command,    report_command,
      diff_command,    export_command, import_command,    completion_command, man_command,
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

bool is_option(const std::string& name) {
  const auto is_same = [&](const CommandHelp::Option& option) {
    return option.flag.substr(0, option.flag.find('=')) == "--" + name;
  };
  return std::ranges::any_of(commands(), [&](const Command& command) {
    return std::ranges::any_of(command.describe().options, is_same);
  });
}

int print_help(const std::string& text) {
  print_report(text);
  return 0;
}

namespace {

/// Resets --rank-weights, with a warning, if there are not as many weights as ranks: a run may resume on
/// another number of ranks, and a restart has the command line of the first start. At the first start, only
/// weights from a configuration file are reset.
void drop_other_weights(const World& world, OptionSet& set) {
  const std::string name = "rank-weights";
  const std::string text = set.value_of(name);
  if (text.empty() || (set.file_of(name).empty() && seconds_before_this_start() == 0.0)) return;
  const auto weights = static_cast<int>(split(text, ',').size());
  if (weights == world.size()) return;
  if (world.rank() == 0) {
    print_warning(fmt::format("{}: {} for {}, so none is used", set.origin(name), counted(weights, "weight"),
                              counted(world.size(), "rank")));
  }
  set.reset(name);
}

}  // namespace

int run_on_ranks(OptionSet& set, int argc, char** argv, const std::function<int(World&)>& body) {
  if (wants_help(argc, argv)) return print_help(set.help());
  return run_program(argc, argv, [&](World& world) {
    return set.explain([&] {
      world.agree([&] { set.parse(argc, argv, environ); });
      check_same(world, set.lines_to_compare());
      if (world.rank() == 0) print_warning(fmt::format("{}", fmt::join(set.contradictions(), "; ")));
      drop_other_weights(world, set);
      return body(world);
    });
  });
}

bool is_first_process() { return read_launch().rank == 0; }

}  // namespace lockstep
