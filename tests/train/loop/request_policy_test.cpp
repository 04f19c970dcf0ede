#include "train/loop/request_policy.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(StepsInTime, AreThoseOfAFifthOfASecond) {
  EXPECT_EQ(steps_in_time(160e-6, 512), 512U);
  EXPECT_EQ(steps_in_time(160e-6, 1000), 1000U);
  EXPECT_EQ(steps_in_time(0.8e-3, 512), 250U);
  EXPECT_EQ(steps_in_time(0.15, 512), 1U);
  EXPECT_EQ(steps_in_time(3.0, 512), 1U);
  EXPECT_EQ(steps_in_time(1e-9, 1), 1U);
}

}  // namespace
}  // namespace lockstep
