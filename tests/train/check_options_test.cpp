#include "train/check_options.h"

#include <gtest/gtest.h>

#include "lockstep/training_options.h"

namespace lockstep {
namespace {

TEST(DefaultMicroBatches, AreTheLargestPowerOfTwoThatLeaves32Samples) {
  EXPECT_EQ(default_micro_batches(256), 8);
  EXPECT_EQ(default_micro_batches(250), 2);
  EXPECT_EQ(default_micro_batches(64), 2);
  EXPECT_EQ(default_micro_batches(63), 1);
  EXPECT_EQ(default_micro_batches(1), 1);
}

}  // namespace
}  // namespace lockstep
