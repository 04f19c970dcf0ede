#include "train/check_options.h"

#include <gtest/gtest.h>

#include "data/expect_error.h"
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

TEST(MicroBatchesOf, AreAsManyAsAreAskedForWhereTheyDivideTheBatch) {
  EXPECT_EQ(micro_batches_of({.size = 256}, DeviceKind::cpu), 8);
  EXPECT_EQ(micro_batches_of({.size = 256}, DeviceKind::cuda), 2);
  EXPECT_EQ(micro_batches_of({.size = 256, .micro_batches = 16}, DeviceKind::cuda), 16);
  expect_error(Category::usage, {"micro-batches: 7 micro-batches do not divide a batch of 256; 8 do"},
               [] { micro_batches_of({.size = 256, .micro_batches = 7}, DeviceKind::cpu); });
}

}  // namespace
}  // namespace lockstep
