#include "cli/option_set.h"

#include <gtest/gtest.h>

#include "cli/options.h"
#include "data/expect_error.h"
#include "data/temporary_folder.h"

namespace lockstep {
namespace {

using Arguments = std::vector<const char*>;

TEST(OptionSet, ArgumentsWithoutNames) {
  std::string file;
  bool all = false;
  OptionSet set("lockstep inspect FILE", "Shows a file.");
  set.positional("FILE", "what to show", file);
  set.flag("all", "show everything", all);
  const auto parse_with = [&](Arguments arguments) {
    arguments.insert(arguments.begin(), "inspect");
    return set.parse(static_cast<int>(arguments.size()), arguments.data(), nullptr);
  };
  EXPECT_TRUE(parse_with({"--all", "a.bin"}));
  EXPECT_EQ(file, "a.bin");
  EXPECT_TRUE(all);
  expect_error(Category::usage, {"FILE is missing", "lockstep inspect FILE"}, [&] { parse_with({}); });
  expect_error(Category::usage, {"unexpected argument 'b'"}, [&] { parse_with({"a", "b"}); });
}

TEST(OptionSet, OptionsOfOtherCommandsArePassedOver) {
  const TemporaryFolder folder;
  const std::string file = folder.write("run.cfg", "lr = 0.1\ndepth = 2\n").string();
  int depth = 1;
  OptionSet set("lockstep other", "Another command.");
  set.integer("depth", "N", "depth", depth, {.min = -8, .max = 8});
  set.config_file();
  set.pass_over(train_option_names());
  const Arguments arguments = {"other", "--config", file.c_str()};
  const Arguments environment = {"LOCKSTEP_EPOCHS=3", nullptr};
  EXPECT_TRUE(set.parse(3, arguments.data(), environment.data()));
  EXPECT_EQ(depth, 2);
  const Arguments negative = {"other", "--depth", "-8"};
  EXPECT_TRUE(set.parse(3, negative.data(), environment.data()));
  EXPECT_EQ(depth, -8);
  expect_error(Category::usage, {"unknown option '--lr'"}, [&] {
    const Arguments foreign = {"other", "--lr", "1"};
    set.parse(3, foreign.data(), nullptr);
  });
}

}  // namespace
}  // namespace lockstep
