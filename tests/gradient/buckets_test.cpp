#include "gradient/buckets.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(Buckets, HoldWholeParameters) {
  using Begins = std::vector<std::size_t>;
  const Begins offsets{0, 16, 32, 64, 80};
  EXPECT_EQ(cut_into_buckets(offsets, 96, 1), offsets);
  EXPECT_EQ(cut_into_buckets(offsets, 96, 17), (Begins{0, 32, 64})) << "80 and 16 alone are too little";
  EXPECT_EQ(cut_into_buckets(offsets, 96, 32), (Begins{0, 32, 64}));
  EXPECT_EQ(cut_into_buckets(offsets, 96, 96), Begins{0});
  EXPECT_EQ(cut_into_buckets(offsets, 96), Begins{0}) << "small networks have one";
  EXPECT_EQ(cut_into_buckets(Begins{}, 0), Begins{0});
}

}  // namespace
}  // namespace lockstep
