#pragma once

#include <vector>

#include "cli/train/train_options.h"
#include "support/expect_error.h"

/// Parses options of `lockstep train` as if given on the command line.
namespace lockstep {

using Arguments = std::vector<const char*>;

inline TrainOptions parse(Arguments arguments, Arguments environment = {}) {
  arguments.insert(arguments.begin(), "train");
  environment.push_back(nullptr);
  TrainOptions options;
  train_option_set(options).parse(static_cast<int>(arguments.size()), arguments.data(), environment.data());
  return options;
}

inline void expect_usage(const Arguments& arguments, const std::vector<std::string>& parts,
                         const Arguments& environment = {}) {
  expect_error(Category::usage, parts, [&] { parse(arguments, environment); });
}

}  // namespace lockstep
