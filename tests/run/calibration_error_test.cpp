#include "run/report/calibration_error.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep {
namespace {

TEST(CalibrationError, IsTheMeanDistanceOfTheBins) {
  CalibrationError error;
  EXPECT_EQ(error.value(), 0.0);
  error.add(1.0, true);
  EXPECT_EQ(error.value(), 0.0);
  error.add(1.0, false);
  EXPECT_EQ(error.value(), 0.5);  // half of the samples of the last bin are correct
  error.add(0.55, true);
  error.add(0.59, false);  // in the same bin, (8/15, 9/15]
  EXPECT_DOUBLE_EQ(error.value(), (1.0 + 0.14) / 4.0);
  error.add(0.61, true);  // in the next bin
  EXPECT_DOUBLE_EQ(error.value(), (1.0 + 0.14 + 0.39) / 5.0);
  error.add(std::nan(""), true);
  EXPECT_DOUBLE_EQ(error.value(), (1.0 + 0.14 + 0.39) / 5.0);
}

TEST(CalibrationError, BinsIncludeTheirUpperEnd) {
  CalibrationError error;
  error.add(0.2, true);    // 3/15 is in the third bin
  error.add(0.19, false);  // so is 0.19
  EXPECT_DOUBLE_EQ(error.value(), 0.61 / 2.0);
  error.add(0.0, false);
  EXPECT_DOUBLE_EQ(error.value(), 0.61 / 3.0);
}

}  // namespace
}  // namespace lockstep
