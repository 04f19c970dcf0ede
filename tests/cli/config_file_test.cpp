#include "cli/options/config_file.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_folder.h"
#include "support/test_files.h"

namespace lockstep {
namespace {

std::vector<ConfigEntry> parse(const std::string& text) { return parse_config(text, "run.cfg"); }

std::string value_of(const std::string& text) { return parse("key = " + text + "\n").at(0).value; }

TEST(ConfigFile, LinesCommentsAndBlanks) {
  const auto entries = parse("# top\n\n  lr=0.1\r\nrun-dir =  a b  # why\n\t\nlast = 1");
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0].name, "lr");
  EXPECT_EQ(entries[0].value, "0.1");
  EXPECT_EQ(entries[0].line, 3);
  EXPECT_EQ(entries[1].value, "a b");
  EXPECT_EQ(entries[2].name, "last");
  EXPECT_EQ(entries[2].line, 6);
  EXPECT_EQ(parse("\xef\xbb\xbflr = 0.1\r\n").at(0).name, "lr");  // as Windows editors write it
}

TEST(ConfigFile, Values) {
  EXPECT_EQ(value_of(""), "");
  EXPECT_EQ(value_of("# nothing"), "");
  EXPECT_EQ(value_of("a#b"), "a#b");
  EXPECT_EQ(value_of("a = b"), "a = b");
  EXPECT_EQ(value_of(R"(" a # b "  # why)"), " a # b ");
  EXPECT_EQ(value_of(R"("\"\\\n\t\r")"), "\"\\\n\t\r");
  EXPECT_EQ(value_of(R"(C:\new)"), R"(C:\new)");
}

/// lockstep-run restarts a run after a disk failure, but not after wrong usage.
TEST(ConfigFile, AFailingMachineIsNoWrongUsage) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.write("run.cfg", "lr = 0.1\n");
  for (const char* name : {"open", "read"}) {
    TestFiles files(system_files(), [&](const FileCall& call) { return call.name == name ? EIO : 0; });
    const ScopedFiles replaced(files);
    expect_error(Category::resource, {"/run.cfg: cannot ", "Input/output error"}, [&] { read_config(file); });
  }
}

TEST(ConfigFile, WhatIsWrittenReadsBack) {
  for (const std::string& value : {std::string(), std::string("plain"), std::string(" a "), std::string("#"),
                                   std::string("a #b"), std::string("\"q\""), std::string("a\\\"\n\r\t")}) {
    EXPECT_EQ(value_of(config_value(value)), value);
  }
}

TEST(ConfigFile, ErrorsNameTheLine) {
  const auto expect_bad = [](const std::string& text, const std::vector<std::string>& parts) {
    expect_error(Category::usage, parts, [&] { parse(text); });
  };
  expect_bad("lr = 1\nlr 2\n", {"run.cfg:2: ", "'lr 2'", "key = value"});
  expect_bad("= 2\n", {"run.cfg:1: ", "not an option name"});
  expect_bad("Batch = 2\n", {"run.cfg:1: ", "'Batch'"});
  expect_bad("lr = 1\n\nlr = 2\n", {"run.cfg:3: lr is given twice"});
  expect_bad("a = \"b\n", {"run.cfg:1: ", "closing double quote"});
  expect_bad("a = \"b\" c\n", {"run.cfg:1: ", "after the closing"});
  expect_bad("a = \"\\x\"\n", {"run.cfg:1: ", "backslash"});
  expect_bad(std::string("a = \0b\n", 7), {"run.cfg:1: ", "zero byte"});
  expect_bad(std::string((1 << 20) + 1, '#'), {"longer than 1 MiB"});
}

}  // namespace
}  // namespace lockstep
