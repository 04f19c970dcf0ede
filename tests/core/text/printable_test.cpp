#include "core/text/printable.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(Printable, KeepsMessagesOnOneLine) {
  EXPECT_EQ(printable("layer1.0.conv1"), "layer1.0.conv1");
  EXPECT_EQ(printable("\u00fc 'x'"), "\u00fc 'x'");
  EXPECT_EQ(printable("a\nb\r\tc\x7f"), "a?b??c?");
  EXPECT_EQ(printable(std::string(100, 'x')), std::string(100, 'x'));
  EXPECT_EQ(printable(std::string(101, 'x')), std::string(100, 'x') + "...");
  EXPECT_EQ(printable(""), "");
  for (const std::string letter : {"\u00fc", "\u732b", "\U0001f431"}) {
    const std::string start(98, 'x');
    EXPECT_EQ(printable(start + letter + "x"), letter.size() == 2 ? start + letter + "..." : start + "...");
    EXPECT_EQ(printable(std::string(99, 'x') + letter), std::string(99, 'x') + "...");
  }
  EXPECT_EQ(printable(std::string(101, '\x80')), std::string(96, '\x80') + "...");
  EXPECT_EQ(in_quotes("a\nb"), "'a?b'");
  EXPECT_EQ(in_quotes(std::string(101, 'x')), "'" + std::string(100, 'x') + "...'");
}

TEST(Printable, WholeLinesLoseTheirControlCharactersOnly) {
  EXPECT_EQ(without_control_characters("a\nb\x1b[2J\x7f"), "a?b?[2J?");
  EXPECT_EQ(without_control_characters("\u009b2J\u00e4\u00a0"),
            "?2J\u00e4\u00a0");  // U+009B is CSI in one character
  EXPECT_EQ(without_control_characters("\xc2"), "\xc2");
  EXPECT_EQ(without_control_characters(std::string(1000, 'x')), std::string(1000, 'x'));
}

TEST(Counted, GivesTheNounItsPlural) {
  EXPECT_EQ(counted(1, "micro-batch"), "1 micro-batch");
  EXPECT_EQ(counted(2, "micro-batch"), "2 micro-batches");
  EXPECT_EQ(counted(0U, "rank"), "0 ranks");
  EXPECT_EQ(counted(3, "process"), "3 processes");
  EXPECT_EQ(counted(2, "entry"), "2 entries");
}

TEST(SizeText, HasMebibytesOrGibibytes) {
  EXPECT_EQ(size_text(0), "0 MiB");
  EXPECT_EQ(size_text(std::uint64_t{1023} << 20), "1023 MiB");
  EXPECT_EQ(size_text(std::uint64_t{1} << 30), "1.0 GiB");
  EXPECT_EQ(size_text(std::uint64_t{24} << 30), "24.0 GiB");
}

TEST(Printable, FindsControlCharacters) {
  EXPECT_TRUE(has_control_characters("a\nb"));
  EXPECT_TRUE(has_control_characters("\x7f"));
  EXPECT_FALSE(has_control_characters("\u00fc ~'"));
  EXPECT_FALSE(has_control_characters(""));
}

}  // namespace
}  // namespace lockstep
