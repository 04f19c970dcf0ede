#include "cli/model/labels.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "support/synthetic.h"

namespace lockstep {
namespace {

TEST(ClassNames, AreNumbersWhereTheDataSetHasNone) {
  test::Synthetic set(0, {}, 2);
  EXPECT_EQ(names_of_classes(set, 2), (std::vector<std::string>{"0", "1"}));
  set.names = {"a\nb", std::string(101, 'c')};
  EXPECT_EQ(names_of_classes(set, 2), set.names);
}

TEST(ClassNames, ThatMayMeanTheSameAreReported) {
  test::Synthetic set(0, {}, 2);
  const auto warning = [](const char* names, const char* how) {
    return fmt::format("{} count as two, but {}: if they mean the same, spell them in one way", names, how);
  };
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"0", "0.0", "1", "1.0"}, warning("classes '0' and '0.0'", "are equal as numbers")},
      {{"-0", "0", "1"}, warning("classes '-0' and '0'", "are equal as numbers")},
      {{"NO", "Yes", "no", "yes"}, warning("classes 'NO' and 'no'", "differ in case only")},
      {{"1", "1a", "10", "0.1"}, ""}};
  for (const auto& [names, text] : cases) {
    set.names = names;
    EXPECT_EQ(similar_classes_text(set), text);
  }
  set.names = {"cat", "Cat"};
  set.set_task(Task::multilabel);
  EXPECT_EQ(similar_classes_text(set), warning("labels 'cat' and 'Cat'", "differ in case only"));
}

TEST(ClassCounts, StandBesideTheNames) {
  EXPECT_EQ(class_counts_text({"cat", "hot dog"}, {20, 7}, 7), "       cat 20, hot dog 7\n");
  EXPECT_EQ(class_counts_text({"a\nb", std::string(101, 'c')}, {2, 3}, 0),
            "a?b 2,\n" + std::string(100, 'c') + "... 3\n");
}

TEST(ClassCounts, OfManyClassesFitATerminal) {
  std::vector<std::string> names;
  for (int c = 0; c < 100; ++c) names.push_back("class_" + std::to_string(c));
  names.emplace_back(120, 'x');
  const std::string text = class_counts_text(names, std::vector<std::uint64_t>(101, 500), 7);
  const std::string long_line = std::string(7, ' ') + std::string(100, 'x') + "... 500";
  std::istringstream stream(text);
  std::string joined;
  std::string line;
  while (std::getline(stream, line)) {
    EXPECT_TRUE(line.size() <= 100 || line == long_line) << line;
    EXPECT_TRUE(line.starts_with("       c") || line.starts_with("       x")) << line;
    joined += line.substr(7);
  }
  EXPECT_TRUE(joined.starts_with("class_0 500, class_1 500,")) << joined;
  EXPECT_EQ(std::count(joined.begin(), joined.end(), ','), 100);
}

}  // namespace
}  // namespace lockstep
