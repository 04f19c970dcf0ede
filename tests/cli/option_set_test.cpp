#include "cli/options/option_set.h"

#include <gtest/gtest.h>

#include "cli/commands.h"
#include "cli/parse_options.h"

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

TEST(OptionSet, ArgumentsWithoutNames) {
  std::string file;
  ShowOptions options;
  OptionSet set("lockstep inspect FILE", "Shows a file.");
  set.positional("FILE", "what to show", file);
  set.add(options);
  EXPECT_TRUE(parse(set, {"--all", "a.bin"}));
  EXPECT_EQ(file, "a.bin");
  EXPECT_TRUE(options.all);
  expect_error(Category::usage, {"FILE is missing", "lockstep inspect FILE"}, [&] { parse(set, {}); });
  expect_error(Category::usage, {"FILE is empty", "lockstep inspect FILE"}, [&] { parse(set, {""}); });
  for (const char* const name : {"-h", "--help", "--all=false", "--depth"}) {
    EXPECT_TRUE(parse(set, {"--all", "--", name}));
    EXPECT_EQ(file, name);
    EXPECT_TRUE(options.all);
  }
}

TEST(OptionSet, ArgumentsThatAreNamesOfAList) {
  std::string name;
  OptionSet set("lockstep recipes [NAME]", "Prints a recipe.");
  set.optional_positional("NAME", "recipe to print", name, "recipe", {"photos", "table"});
  EXPECT_TRUE(parse(set, {}));
  EXPECT_EQ(name, "");
  EXPECT_TRUE(parse(set, {"table"}));
  EXPECT_EQ(name, "table");
  expect_error(Category::usage, {"unknown recipe 'tabel'; did you mean 'table'?"},
               [&] { parse(set, {"tabel"}); });
}

TEST(OptionSet, ListsOfArguments) {
  std::string model;
  std::vector<std::string> paths;
  OptionSet set("lockstep predict MODEL PATH...", "Predicts.");
  set.positional("MODEL", "model", model);
  set.list("PATH...", "images", paths);
  EXPECT_TRUE(parse(set, {"m"}));
  EXPECT_EQ(paths, std::vector<std::string>());
  EXPECT_TRUE(parse(set, {"m", "b", "-", "a"}));
  EXPECT_EQ(model, "m");
  EXPECT_EQ(paths, (std::vector<std::string>{"b", "-", "a"}));
}

TEST(OptionSet, AListReplacesAnOptionFromElsewhere) {
  std::vector<std::string> paths;
  ShowOptions options;
  OptionSet set("lockstep show PATH... | --depth N", "Shows.");
  set.list("PATH...", "files", paths, {"depth"});
  set.add(options);
  const Arguments environment = {"LOCKSTEP_DEPTH=3", "LOCKSTEP_ALL=1"};
  EXPECT_TRUE(parse(set, {"a"}, environment));
  EXPECT_EQ(options.depth, 1);
  EXPECT_TRUE(options.all);
  expect_error(Category::usage, {"both 'a' and --depth are given: omit one of them"}, [&] {
    parse(set, {"a", "--depth", "3"});
  });
  paths.clear();
  EXPECT_TRUE(parse(set, {}, environment));
  EXPECT_EQ(options.depth, 3);
}

TEST(OptionSet, ImpliedValuesComeLast) {
  std::string file;
  ShowOptions options;
  OptionSet set("lockstep show FILE", "Shows.");
  set.positional("FILE", "file", file);
  set.add(options);
  set.imply([&](const OptionSet::Given& given) {
    EXPECT_EQ(given("depth"), file == "twice" ? "2" : "");
    return std::vector<ImpliedValue>{{"depth", file == "bad" ? "9" : "3", file, true},
                                     {"all", "true", file, false},
                                     {"unknown", "1", file, false}};
  });
  EXPECT_TRUE(parse(set, {"once"}));
  EXPECT_EQ(options.depth, 3);
  EXPECT_TRUE(options.all);
  EXPECT_FALSE(set.is_given("depth"));
  EXPECT_TRUE(set.contradictions().empty());
  EXPECT_TRUE(parse(set, {"twice", "--depth", "2", "--all=false"}));
  EXPECT_EQ(options.depth, 2);
  EXPECT_FALSE(options.all);
  EXPECT_TRUE(set.is_given("depth"));
  EXPECT_EQ(set.contradictions(), std::vector<std::string>{"--depth is '2', but '3' in twice"});
  expect_error(Category::usage, {"bad: depth: '9'"}, [&] { parse(set, {"bad"}); });
}

TEST(OptionSet, OptionsOfOtherCommandsAndInternalVariablesAreIgnored) {
  const TemporaryFolder folder;
  const std::string file = folder.write("run.cfg", "lr = 0.1\ndepth = 2\n").string();
  ShowOptions options;
  OptionSet set("lockstep other", "Another command.");
  set.add(options);
  set.config_file();
  set.ignore(train_option_names());
  set.ignore_variables(is_option);
  const Arguments environment = {"LOCKSTEP_EPOCHS=3", "LOCKSTEP_JOB=1a2b", "LOCKSTEP_LAUNCHER=1:0123",
                                 "LOCKSTEP_SELF_TEST=false", "LOCKSTEP_JSON=1"};
  EXPECT_TRUE(parse(set, {"--config", file.c_str()}, environment));
  EXPECT_EQ(options.depth, 2);
  EXPECT_TRUE(parse(set, {"--depth", "-8"}, environment));
  EXPECT_EQ(options.depth, -8);
  expect_error(Category::usage, {"unknown environment variable 'LOCKSTEP_JASON'"},
               [&] { parse(set, {}, {"LOCKSTEP_JASON=1"}); });
  expect_error(Category::usage, {"unknown option '--lr'"}, [&] { parse(set, {"--lr", "1"}); });
}

}  // namespace
}  // namespace lockstep
