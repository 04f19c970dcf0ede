#include "run/rank_map.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(RankMap, TextsNameRanksHostAndDevice) {
  EXPECT_EQ(text_of({.first = 4, .ranks = 4, .host = "b", .device = "2 threads, avx2"}),
            "ranks 4 to 7 on b: 2 threads, avx2 each");
  EXPECT_EQ(text_of({.first = 3, .ranks = 1, .host = "b", .device = "8 threads, avx512"}),
            "rank 3 on b: 8 threads, avx512");
}

}  // namespace
}  // namespace lockstep
