#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lockstep/field.h"

namespace lockstep {

/// Description of a command for people. --help, the manual page and the completion of shells are made from
/// it.
struct CommandHelp {
  /// An argument without a name.
  struct Argument {
    std::string placeholder;  ///< "RUN_DIR", or the choices: "bash|zsh"
    std::string help;
    Names choices = {};  ///< possible words; empty: any
  };
  struct Option {
    std::string flag;         ///< "--lr"; "--self-test=false" of a switch that is on by default
    std::string placeholder;  ///< stands for the value; empty: a switch
    std::string help;         ///< with conditions, possible values and default
    std::string heading;      ///< of its group
    Names choices = {};       ///< possible values, for completion; empty: any
    bool is_path = false;     ///< whether the value names a file or a folder
  };

  std::string usage;  ///< "lockstep eval [options] MODEL"
  std::string summary = {};
  std::string prologue = {};  ///< text before the options, for example examples; may be empty
  std::string epilogue = {};  ///< text after the options; may be empty
  std::vector<Argument> arguments = {};
  std::vector<Option> options = {};  ///< of one group after the other; --help comes last
};

/// Items, separated by spaces, in lines of up to 100 columns, except for longer items. A line begins with
/// `indent` spaces, the first one with `used` fewer.
std::string wrap(const Names& items, std::size_t indent, std::size_t used = 0);

/// Text of --help, in lines of up to 100 columns.
std::string help_text(const CommandHelp& help);

}  // namespace lockstep
