#include "hosts/placing.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace lockstep::launcher {
namespace {

TEST(Placing, TableOfSlotsAndRanks) {
  struct Row {
    std::vector<int> slots;  // of hosts a, b, ...; 0: open
    int ranks;               // of -np; 0: open
    std::vector<int> filled, started;
  };
  const std::vector<Row> table = {
      {{2, 2}, 0, {2, 2}, {2, 2}},          {{2, 2}, 3, {2, 2}, {2, 1}}, {{2, 2}, 1, {2, 2}, {1, 0}},
      {{0, 0}, 0, {1, 2}, {1, 2}},          {{0, 0}, 5, {3, 2}, {3, 2}}, {{4, 0}, 6, {4, 2}, {4, 2}},
      {{4, 0}, 0, {4, 2}, {4, 2}},          {{4, 0}, 4, {4, 1}, {4, 0}}, {{0, 0, 0}, 7, {3, 2, 2}, {3, 2, 2}},
      {{0, 0, 0}, 2, {1, 1, 1}, {1, 1, 0}},
  };
  for (const Row& row : table) {
    SCOPED_TRACE(testing::PrintToString(row.slots) + ", " + std::to_string(row.ranks));
    std::vector<MpirunOptions::Host> hosts;
    for (const int slots : row.slots) hosts.push_back({.name = "a", .slots = slots});
    fill_slots(hosts, row.ranks, {1, 2, 3});
    std::vector<int> filled;
    for (const MpirunOptions::Host& host : hosts) filled.push_back(host.slots);
    EXPECT_EQ(filled, row.filled);
    EXPECT_EQ(ranks_of_hosts(hosts, row.ranks), row.started);
  }
  std::vector<MpirunOptions::Host> few = {{.name = "a", .slots = 2}, {.name = "b", .slots = 1}};
  expect_error(Category::usage, {"4 ranks on hosts with 3 slots"}, [&] { fill_slots(few, 4, {1, 1}); });
}

}  // namespace
}  // namespace lockstep::launcher
