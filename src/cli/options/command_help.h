#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lockstep/field.h"

namespace lockstep {

/// Description of a command for people. --help, the manual page and the completion of shells are made from
/// it.
struct CommandHelp {
  /// An argument without a name.
  struct Argument {
    std::string placeholder;  ///< "RUN_DIR", or the possible words: "allreduce|data|ops|step"
    std::string help;
  };
  struct Option {
    std::string flag;         ///< "--lr"
    std::string placeholder;  ///< stands for the value; empty: a switch
    std::string help;         ///< with conditions, possible values and default
    std::string heading;      ///< of its group
    Names choices = {};       ///< possible values; empty: any
    bool is_path = false;     ///< whether the value names a file or a folder
  };

  std::string usage;  ///< "lockstep eval [options] MODEL"
  std::string summary = {};
  std::string prologue = {};  ///< text before the options, for example examples; may be empty
  std::string epilogue = {};  ///< text after the options; may be empty
  std::vector<Argument> arguments = {};
  std::vector<Option> options = {};  ///< of one group after the other; --help comes last
};

/// Text of --help, in lines of up to 100 columns.
std::string help_text(const CommandHelp& help);

/// Manual page in the language of man(7). `name`: "lockstep-eval"; `summary`: a line, in lower case.
std::string manual_page(const std::string& name, const std::string& summary, const CommandHelp& help);

/// A command with its name, "data pack", for the completion of a shell.
struct NamedHelp {
  std::string name;
  std::string summary;
  CommandHelp help;
};

/// Script for bash that completes commands, options and values of `lockstep`, and of `lockstep-run` after
/// its own options.
std::string bash_completion(const std::vector<NamedHelp>& commands);
/// The same for zsh, with an explanation beside each option.
std::string zsh_completion(const std::vector<NamedHelp>& commands);

}  // namespace lockstep
