#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lockstep/field.h"

namespace lockstep {

/// Human-readable description of a command. --help, manual pages and shell completion are generated from it.
struct CommandHelp {
  /// A positional argument.
  struct Argument {
    std::string placeholder;  ///< "RUN_DIR", or the choices: "bash|zsh"
    std::string help;
    Names choices = {};  ///< allowed words; empty: any word
  };
  struct Option {
    std::string flag;         ///< "--lr"; for a switch that is on by default: "--self-test=false"
    std::string placeholder;  ///< stands for the value; empty: a switch
    std::string help;         ///< with conditions, possible values and default
    std::string heading;      ///< heading of the option's group
    Names choices = {};       ///< allowed values, for completion; empty: any value
    bool is_path = false;     ///< whether the value names a file or a folder
  };

  std::string usage;  ///< "lockstep eval [options] MODEL"
  std::string summary = {};
  std::string prologue = {};  ///< text before the options, such as examples; may be empty
  std::string epilogue = {};  ///< text after the options; may be empty
  std::vector<Argument> arguments = {};
  std::vector<Option> options = {};  ///< grouped by heading; --help comes last
};

/// Joins items with spaces into lines of up to 100 columns; only an item that is longer exceeds them. Lines
/// begin with `indent` spaces, the first line with `used` fewer.
std::string wrap(const Names& items, std::size_t indent, std::size_t used = 0);

/// Text of --help, in lines of up to 100 columns.
std::string help_text(const CommandHelp& help);

}  // namespace lockstep
