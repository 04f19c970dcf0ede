#include "cli/options/option_set.h"

#include <gtest/gtest.h>

#include "cli/train/train_options.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace lockstep {

struct ShowOptions {
  bool all = false;
  int depth = 1;
};

template <OptionsOf<ShowOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  auto& [all, depth] = options;
  field(all, {.name = "all", .help = "show everything"});
  field(depth, {.name = "depth", .help = "depth", .range = {.min = -8, .max = 8}});
}

namespace {

using Arguments = std::vector<const char*>;

TEST(OptionSet, ArgumentsWithoutNames) {
  std::string file;
  ShowOptions options;
  OptionSet set("lockstep inspect FILE", "Shows a file.");
  set.positional("FILE", "what to show", file);
  set.add(options);
  const auto parse_with = [&](Arguments arguments) {
    arguments.insert(arguments.begin(), "inspect");
    return set.parse(static_cast<int>(arguments.size()), arguments.data(), nullptr);
  };
  EXPECT_TRUE(parse_with({"--all", "a.bin"}));
  EXPECT_EQ(file, "a.bin");
  EXPECT_TRUE(options.all);
  expect_error(Category::usage, {"FILE is missing", "lockstep inspect FILE"}, [&] { parse_with({}); });
  expect_error(Category::usage, {"unexpected argument 'b'"}, [&] { parse_with({"a", "b"}); });
}

TEST(OptionSet, OptionsOfOtherCommandsAndInternalVariablesAreIgnored) {
  const TemporaryFolder folder;
  const std::string file = folder.write("run.cfg", "lr = 0.1\ndepth = 2\n").string();
  ShowOptions options;
  OptionSet set("lockstep other", "Another command.");
  set.add(options);
  set.config_file();
  set.ignore(train_option_names());
  const Arguments arguments = {"other", "--config", file.c_str()};
  const Arguments environment = {"LOCKSTEP_EPOCHS=3", "LOCKSTEP_JOB=1a2b", "LOCKSTEP_LAUNCHER=1:0123",
                                 nullptr};
  EXPECT_TRUE(set.parse(3, arguments.data(), environment.data()));
  EXPECT_EQ(options.depth, 2);
  const Arguments negative = {"other", "--depth", "-8"};
  EXPECT_TRUE(set.parse(3, negative.data(), environment.data()));
  EXPECT_EQ(options.depth, -8);
  expect_error(Category::usage, {"unknown option '--lr'"}, [&] {
    const Arguments foreign = {"other", "--lr", "1"};
    set.parse(3, foreign.data(), nullptr);
  });
}

}  // namespace
}  // namespace lockstep
