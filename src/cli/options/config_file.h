#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// One `key = value` of a configuration file.
struct ConfigEntry {
  std::string name;
  std::string value;
  int line = 0;  ///< from 1
};

/// Reads `key = value` lines, up to 1 MiB. Ignores a byte order mark, blank lines and everything from a # at
/// the start of a line or after a space. A value with # or outer spaces must be in double quotes; escapes in
/// it are \" \\ \n \t \r. Keys consist of lower-case letters, digits and dashes; each may occur once.
/// `origin` names the input in errors. Throws only Error(usage), with origin, line and reason.
std::vector<ConfigEntry> parse_config(std::string_view text, const std::string& origin);

/// Reads a configuration file. Throws Error(usage) as parse_config does, or with field "config" if the file
/// is missing or not readable by this user; Error(resource) if the machine fails (category_of_failure).
std::vector<ConfigEntry> read_config(const std::string& file);

/// Text of `value` in a configuration file, quoted if needed: parse_config reads `value` back.
std::string config_value(std::string_view value);

}  // namespace lockstep
