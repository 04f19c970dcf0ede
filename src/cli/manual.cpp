#include <algorithm>
#include <filesystem>

#include "cli/commands.h"
#include "cli/options/flag.h"
#include "cli/program_help.h"
#include "core/files/atomic_file.h"
#include "core/files/folder.h"
#include "core/nearest.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

struct ManualOptions {
  std::string command;
  std::string output;
};

template <OptionsOf<ManualOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  [[maybe_unused]] auto& [command, output] = options;
  field(output, {.name = "output",
                 .help = "folder for the pages of all commands, instead of printing one",
                 .group = "Output",
                 .placeholder = "DIR"});
}

OptionSet option_set(ManualOptions& options) {
  OptionSet set(
      "lockstep man [COMMAND] | --output DIR",
      "Prints the manual page of a command, or of lockstep itself, for man. An installation has those "
      "of all commands: man lockstep-train.");
  set.optional_positional("COMMAND", "such as train or data-pack", options.command);
  set.add(options);
  set.check([&options] {
    if (options.command.empty() || options.output.empty()) return;
    throw Error(Category::usage, "writes the pages of all commands: omit COMMAND",
                flag_of(&ManualOptions::output).substr(2));
  });
  set.epilogue("Example:\n  lockstep man train | man -l -\n");
  return set;
}

struct Page {
  std::string name;  ///< "lockstep-train"
  std::string text;
};

std::vector<Page> pages() {
  const CommandHelp program{.usage = "lockstep COMMAND [options]; lockstep-run -np N COMMAND [options]",
                            .epilogue = "Description:\n" + program_help()};
  std::vector<Page> all{
      {"lockstep", manual_page("lockstep", "data-parallel training with the same bits", program)}};
  for (const Command& command : commands()) {
    std::string name = "lockstep-" + std::string(command.name);
    std::ranges::replace(name, ' ', '-');
    all.push_back({name, manual_page(name, command.summary, command.describe())});
  }
  return all;
}

/// Throws Error(usage) if there is no such command.
std::string page_of(const std::string& command) {
  std::vector<std::string> known;
  const std::string name = command.empty() ? "lockstep" : "lockstep-" + command;
  for (const Page& page : pages()) {
    if (page.name == name) return page.text;
    if (page.name != "lockstep") known.push_back(page.name.substr(std::string("lockstep-").size()));
  }
  throw Error(Category::usage, unknown_name("command", command, known));
}

int write_manual(const ManualOptions& options) {
  if (options.output.empty()) return print_help(page_of(options.command));
  make_folder(options.output);
  for (const Page& page : pages()) {
    write_text_file(std::filesystem::path(options.output) / (page.name + ".1"), page.text);
  }
  return 0;
}

}  // namespace

constinit const Command man_command = command_of_one_process<ManualOptions, option_set, write_manual>(
    "man", "print the manual page of a command");

}  // namespace lockstep
