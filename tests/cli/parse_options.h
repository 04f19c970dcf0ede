#pragma once

#include <vector>

#include "cli/train/train_options.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"
#include "support/text.h"

namespace lockstep {

using Arguments = std::vector<const char*>;

/// Parses `arguments`, which must not include a command name, with OptionSet::parse.
inline bool parse(OptionSet& set, Arguments arguments, Arguments environment = {}) {
  arguments.insert(arguments.begin(), "command");
  environment.push_back(nullptr);
  return set.parse(static_cast<int>(arguments.size()), arguments.data(), environment.data());
}

/// Parses options of `lockstep train` as if given on the command line.
inline TrainOptions parse(const Arguments& arguments, const Arguments& environment = {}) {
  TrainOptions options;
  OptionSet set = train_option_set(options);
  parse(set, arguments, environment);
  return options;
}

/// Pointers to `texts`, which must outlive the result.
inline Arguments pointers(const test::Words& texts) {
  Arguments result;
  for (const std::string& text : texts) result.push_back(text.c_str());
  return result;
}

/// Parses a command line whose words are separated by spaces.
inline TrainOptions parse_line(const std::string& line) { return parse(pointers(test::words(line))); }

/// Parses a configuration file with this text.
inline TrainOptions parse_file(const std::string& text) {
  const TemporaryFolder folder;
  return parse({"--config", folder.write("run.cfg", text).c_str()});
}

inline void expect_usage(const Arguments& arguments, const std::vector<std::string>& parts,
                         const Arguments& environment = {}) {
  expect_error(Category::usage, parts, [&] { parse(arguments, environment); });
}

}  // namespace lockstep
