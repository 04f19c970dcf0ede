#include "cli/model/class_names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "support/synthetic.h"

namespace lockstep {
namespace {

TEST(ClassNames, AreNumbersWhereTheDataSetHasNone) {
  test::Synthetic set(0, {}, 2);
  EXPECT_EQ(names_of_classes(set, 2), (std::vector<std::string>{"0", "1"}));
  set.names = {"a\nb", "c"};
  EXPECT_EQ(names_of_classes(set, 2), (std::vector<std::string>{"a?b", "c"}));
}

TEST(ClassCounts, StandBesideTheNames) {
  EXPECT_EQ(class_counts_text({"cat", "hot dog"}, {20, 7}, 7), "       cat 20, hot dog 7\n");
}

TEST(ClassCounts, OfManyClassesFitATerminal) {
  std::vector<std::string> names;
  for (int c = 0; c < 100; ++c) names.push_back("class_" + std::to_string(c));
  names.emplace_back(120, 'x');
  const std::string text = class_counts_text(names, std::vector<std::uint64_t>(101, 500), 7);
  std::istringstream stream(text);
  std::string joined;
  std::string line;
  while (std::getline(stream, line)) {
    EXPECT_TRUE(line.size() <= 100 || line == std::string(7, ' ') + names.back() + " 500") << line;
    EXPECT_TRUE(line.starts_with("       c") || line.starts_with("       x")) << line;
    joined += line.substr(7);
  }
  EXPECT_TRUE(joined.starts_with("class_0 500, class_1 500,")) << joined;
  EXPECT_EQ(std::count(joined.begin(), joined.end(), ','), 100);
}

}  // namespace
}  // namespace lockstep
