#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "core/text/split.h"

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
  set.choice("shell", {"bash", "zsh"}, "shell that reads the script", options.shell);
  set.epilogue(
      "Examples, for the present shell:\n  source <(lockstep completion bash)\n"
      "  autoload -U compinit && compinit && source <(lockstep completion zsh)\n");
  return set;
}

/// Options of `lockstep` without a command.
constexpr const char* program_options = "--help --version --gpus";

/// Words that can follow a command: the choices of its first argument, and the second words of commands that
/// begin with its name. Empty: any word.
Names next_words(const Command& command, const CommandHelp& help) {
  Names words = help.arguments.empty() ? Names() : help.arguments.front().choices;
  for (const Command& other : commands()) {
    const std::vector<std::string> name = split(other.name, ' ');
    if (name.size() == 2 && name.front() == command.name) words.push_back(name.back());
  }
  return words;
}

bool has_two_words(const Command& command) { return split(command.name, ' ').size() == 2; }

Names first_words() {
  Names words;
  for (const Command& command : commands()) {
    if (!has_two_words(command)) words.emplace_back(command.name);
  }
  return words;
}

/// Two-word commands as shell patterns: "'data pack'".
Names pairs() {
  Names names;
  for (const Command& command : commands()) {
    if (has_two_words(command)) names.push_back(fmt::format("'{}'", command.name));
  }
  return names;
}

/// Part of the bash script that sets `candidates` for the words after a command.
std::string bash_case(const Command& command) {
  const CommandHelp help = command.describe();
  std::string text = fmt::format("    '{}')\n      case $previous in\n", command.name);
  Names flags, with_value;
  for (const CommandHelp::Option& option : help.options) {
    flags.push_back(option.flag);
    if (!option.choices.empty()) {
      text += fmt::format("        {}) candidates='{}' ;;\n", flags.back(), fmt::join(option.choices, " "));
    } else if (!option.placeholder.empty()) {
      with_value.push_back(flags.back());
    }
  }
  if (!with_value.empty())
    text += fmt::format("        {}) ;;  # a file or another text\n", fmt::join(with_value, "|"));
  if (const Names words = next_words(command, help); !words.empty()) {
    text += fmt::format("        {}) candidates='{}' ;;\n", split(command.name, ' ').back(),
                        fmt::join(words, " "));
  }
  return text + fmt::format("        *) [[ $word == -* ]] && candidates='{}' ;;\n      esac ;;\n",
                            fmt::join(flags, " "));
}

/// Escapes `text` for the brackets of zsh's _arguments, in single quotes.
std::string zsh_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
    } else {
      if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
      result += c;
    }
  }
  return result;
}

/// First clause of an explanation.
std::string_view clause(std::string_view help) {
  const std::string_view part = help.substr(0, help.find_first_of(";[("));
  return part.substr(0, part.find_last_not_of(' ') + 1);
}

std::string zsh_option(const CommandHelp::Option& option) {
  std::string text = fmt::format("'{}{}[{}]", option.flag, option.placeholder.empty() ? "" : "=",
                                 zsh_text(clause(option.help)));
  if (!option.placeholder.empty()) {
    text += fmt::format(":{}:{}", zsh_text(option.placeholder),
                        !option.choices.empty() ? fmt::format("({})", fmt::join(option.choices, " "))
                        : option.is_path        ? "_files"
                                                : "");
  }
  return text + "'";
}

std::string zsh_case(const Command& command) {
  const CommandHelp help = command.describe();
  std::string text = fmt::format("    '{}')\n      _arguments", command.name);
  for (const CommandHelp::Option& option : help.options) text += " \\\n        " + zsh_option(option);
  const Names words = next_words(command, help);
  text += words.empty() ? " \\\n        '*:file:_files'"
                        : fmt::format(" \\\n        '1:what:({})'", fmt::join(words, " "));
  return text + " ;;\n";
}

/// Bash script that completes commands, options and values of `lockstep` and, after the launcher's options,
/// of `lockstep-run`.
std::string bash_completion() {
  std::string text = fmt::format(
      R"sh(# Completes lockstep and lockstep-run in bash. Written by: lockstep completion bash
_lockstep() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} command='' candidates='' i
  if [[ $word == = ]]; then word=''; elif [[ $previous == = ]]; then previous=${{COMP_WORDS[COMP_CWORD - 2]}}; fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case ${{COMP_WORDS[i]}} in {0}) command=${{COMP_WORDS[i]}}; break ;; esac
  done
  case "$command ${{COMP_WORDS[i + 1]}}" in {1}) ((i + 1 < COMP_CWORD)) && command+=" ${{COMP_WORDS[i + 1]}}" ;; esac
  case $command in
    '')
      candidates='{2}'
      if [[ ${{COMP_WORDS[0]}} == *lockstep-run ]]; then
        candidates+=" $("${{COMP_WORDS[0]}}" --help 2>/dev/null | sed -n 's/^  \(-[-a-z]*\).*/\1/p')"
      else
        candidates+=' help {3}'
      fi ;;
)sh",
      fmt::join(first_words(), "|"), fmt::join(pairs(), "|"), fmt::join(first_words(), " "), program_options);
  for (const Command& command : commands()) text += bash_case(command);
  return text + R"sh(  esac
  mapfile -t COMPREPLY < <(compgen -W "$candidates" -- "$word")
}
complete -o default -F _lockstep lockstep lockstep-run
)sh";
}

/// The same script for zsh, with an explanation of each option.
std::string zsh_completion() {
  std::string described;
  for (const Command& command : commands()) {
    if (has_two_words(command)) continue;
    described += fmt::format("\n    '{}:{}'", command.name, zsh_text(command.summary));
  }
  std::string text = fmt::format(
      R"sh(#compdef lockstep lockstep-run
# Completes lockstep and lockstep-run in zsh. Written by: lockstep completion zsh
_lockstep() {{
  local command='' i
  local -a names=({0}
    'help:list all commands, or explain one')
  for ((i = 2; i < CURRENT; ++i)); do
    case $words[i] in {1}) command=$words[i]; break ;; esac
  done
  case "$command $words[i+1]" in {2}) ((i + 1 < CURRENT)) && ((++i)) && command+=" $words[i]" ;; esac
  if [[ -n $command ]]; then
    words=("${{(@)words[i,-1]}}")
    ((CURRENT -= i - 1))
  fi
  case $command in
    '')
      if [[ $PREFIX != -* ]]; then
        _describe command names
      elif [[ $words[1] == *lockstep-run ]]; then
        compadd -- $("$words[1]" --help 2>/dev/null | sed -n 's/^  \(-[-a-z]*\).*/\1/p')
      else
        compadd -- {3}
      fi ;;
)sh",
      described, fmt::join(first_words(), "|"), fmt::join(pairs(), "|"), program_options);
  for (const Command& command : commands()) text += zsh_case(command);
  return text + R"sh(  esac
}
if [[ $funcstack[1] == _lockstep ]]; then _lockstep "$@"; else compdef _lockstep lockstep lockstep-run; fi
)sh";
}

int print_completion(const CompletionOptions& options) {
  return print_help(options.shell == "bash" ? bash_completion() : zsh_completion());
}

}  // namespace

constinit const Command completion_command =
    command_of_one_process<CompletionOptions, option_set, print_completion>(
        "completion", "print a script that completes commands and options in a shell");

}  // namespace lockstep
