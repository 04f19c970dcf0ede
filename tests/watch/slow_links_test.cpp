#include "watch/slow_links.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

/// Numbers, from 1, of the messages at which the link to host 1 is found to be slow. Messages arrive every
/// `interval` seconds.
std::vector<int> findings(const std::vector<std::pair<int, double>>& times, double interval = 1.0) {
  SlowLinks links(2);
  std::vector<int> found;
  int message = 0;
  for (const auto& [count, seconds] : times) {
    for (int i = 0; i < count; ++i) {
      ++message;
      if (links.add(1, interval * message, seconds)) found.push_back(message);
    }
  }
  return found;
}

TEST(SlowLinks, TableOfTimes) {
  EXPECT_EQ(findings({{1, 0.001}, {9, 0.3}}), std::vector<int>{6});
  EXPECT_EQ(findings({{1, 0.001}, {4, 0.3}, {1, 0.01}, {4, 0.3}}), std::vector<int>()) << "not in a row";
  EXPECT_EQ(findings({{1, 0.001}, {9, 0.3}, {9, 0.001}}, 0.01), std::vector<int>()) << "they arrive together";
  EXPECT_EQ(findings({{1, 0.001}, {9, 0.049}}), std::vector<int>()) << "not long";
  EXPECT_EQ(findings({{9, 0.3}}), std::vector<int>()) << "it was never faster";
  EXPECT_EQ(findings({{1, 0.08}, {9, 0.3}}), std::vector<int>()) << "less than four times as long";
  EXPECT_EQ(findings({{1, 0.001}, {5, 0.3}, {4, 0.001}, {9, 0.3}}), std::vector<int>{6}) << "still slow";
  EXPECT_EQ(
      findings({{5, 0.001}, {5, 0.3}, {5, 0.001}, {5, 0.3}, {5, 0.001}, {5, 0.3}, {5, 0.001}, {5, 0.3}}),
      (std::vector<int>{10, 20, 30}))
      << "three times at most";
}

TEST(SlowLinks, AreNamedWithTheirHosts) {
  SlowLinks links(2);
  links.add(1, 0.0, 0.0002);
  std::optional<SlowLinks::Finding> found;
  for (int i = 0; i < 5; ++i) found = links.add(1, i + 1.0, 0.1 * (i + 1));
  ASSERT_TRUE(found);
  EXPECT_TRUE(
      message_of(*found, "a", "b")
          .starts_with("a message between hosts a and b takes 300 ms there and back, at best 0.2 ms: "));
}

}  // namespace
}  // namespace lockstep
