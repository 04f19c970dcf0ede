#pragma once

#include <iosfwd>
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

/// Reads `key = value` lines. Blank lines and everything from a # at the start of a line or after a space
/// are passed over. A value that holds # or outer spaces is written in double quotes, with \" \\ \n \t \r
/// inside. Keys are lower-case letters, digits and dashes, each at most once. `origin` names the input in
/// errors. At most 1 MiB. Throws Error(usage) with origin, line and reason, and nothing else.
std::vector<ConfigEntry> parse_config(std::istream& input, const std::string& origin);

/// parse_config of a file. Throws Error(usage) when it cannot be read.
std::vector<ConfigEntry> read_config(const std::string& file);

/// `value` as parse_config reads it back, quoted where needed.
std::string config_value(std::string_view value);

}  // namespace lockstep
