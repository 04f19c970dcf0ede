#include "cli/commands.h"
#include "core/nearest.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

struct CompletionOptions {
  std::string shell;
};

OptionSet option_set(CompletionOptions& options) {
  OptionSet set(
      "lockstep completion bash|zsh",
      "Prints a script that completes the commands, options and values of lockstep and lockstep-run "
      "in a shell. An installation has it where shells look for it.");
  set.positional("bash|zsh", "shell that reads the script", options.shell);
  set.epilogue(
      "Examples, for the present shell:\n  source <(lockstep completion bash)\n"
      "  autoload -U compinit && compinit && source <(lockstep completion zsh)\n");
  return set;
}

std::vector<NamedHelp> help_of_commands() {
  std::vector<NamedHelp> all;
  for (const Command& command : commands()) {
    all.push_back({.name = command.name, .summary = command.summary, .help = command.describe()});
  }
  return all;
}

int print_completion(const CompletionOptions& options) {
  const std::vector<std::string> shells{"bash", "zsh"};
  if (options.shell == "bash") return print_help(bash_completion(help_of_commands()));
  if (options.shell == "zsh") return print_help(zsh_completion(help_of_commands()));
  throw Error(Category::usage, unknown_name("shell", options.shell, shells));
}

}  // namespace

constinit const Command completion_command =
    command_of_one_process<CompletionOptions, option_set, print_completion>(
        "completion", "print a script that completes commands and options in a shell");

}  // namespace lockstep
