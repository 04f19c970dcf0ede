#include "ops/pool_windows.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

/// Expects that the holders of each position are exactly the windows that contain it.
void expect_inverse(const PoolAxis& axis) {
  for (int position = 0; position < axis.size; ++position) {
    const PoolRange holders = axis.holders(position);
    for (int output = 0; output < axis.outputs; ++output) {
      const PoolRange window = axis.window(output);
      const bool inside = window.begin <= position && position < window.end;
      ASSERT_EQ(inside, holders.begin <= output && output < holders.end)
          << "size " << axis.size << " kernel " << axis.kernel << " stride " << axis.stride << " padding "
          << axis.padding << " outputs " << axis.outputs << " position " << position << " output " << output;
    }
    ASSERT_GE(holders.begin, 0);
    ASSERT_LE(holders.end, axis.outputs);
  }
}

TEST(PoolAxis, HoldersAreTheInverseOfWindows) {
  for (int size = 1; size <= 9; ++size) {
    for (int kernel = 1; kernel <= 5; ++kernel) {
      for (int stride = 1; stride <= 6; ++stride) {
        for (int padding = 0; padding <= kernel / 2 && kernel <= size + 2 * padding; ++padding) {
          const int outputs = (size + 2 * padding - kernel) / stride + 1;
          expect_inverse({size, outputs, kernel, stride, padding, false});
        }
      }
    }
  }
}

TEST(PoolAxis, HoldersAreTheInverseOfAdaptiveWindows) {
  for (int size = 1; size <= 12; ++size) {
    for (int outputs = 1; outputs <= 13; ++outputs) expect_inverse({.size = size, .outputs = outputs});
  }
}

TEST(PoolAxis, AdaptiveWindowsOfLargeImages) {
  const PoolAxis axis{.size = 1 << 20, .outputs = 4096};
  EXPECT_EQ(axis.window(4095).begin, (1 << 20) - 256);
  EXPECT_EQ(axis.window(4095).end, 1 << 20);
  EXPECT_EQ(axis.holders((1 << 20) - 1).begin, 4095);
  EXPECT_EQ(axis.holders((1 << 20) - 1).end, 4096);
}

TEST(PoolAxis, CountsPaddingOnTheRightUpToItsSize) {
  const PoolAxis axis{.size = 8, .outputs = 5, .kernel = 3, .stride = 2, .padding = 1, .count_padding = true};
  EXPECT_EQ(axis.window(0).count, 3);  // clipped at the start: it begins at -1
  EXPECT_EQ(axis.window(4).begin, 7);
  EXPECT_EQ(axis.window(4).end, 8);
  EXPECT_EQ(axis.window(4).count, 2);  // covers position 7 and the padding, nothing beyond
}

}  // namespace
}  // namespace lockstep
