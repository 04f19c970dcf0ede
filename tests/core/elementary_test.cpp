#include "core/elementary.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep {
namespace {

TEST(Elementary, NearTheLibrarysFunctions) {
  for (double x = -699.5; x < 700.0; x += 0.37) {
    EXPECT_NEAR(exponential(x) / std::exp(x), 1.0, 1e-13) << x;
  }
  for (double x = 1e-8; x < 1e8; x *= 1.7) {
    EXPECT_NEAR(logarithm(x), std::log(x), 1e-15 * (1.0 + std::fabs(std::log(x)))) << x;
  }
  for (double angle = -360.0; angle <= 360.0; angle += 0.7) {
    EXPECT_NEAR(sine_of_degrees(angle), std::sin(angle * 3.141592653589793 / 180.0), 2e-15) << angle;
    EXPECT_NEAR(cosine_of_degrees(angle), std::cos(angle * 3.141592653589793 / 180.0), 2e-15) << angle;
  }
}

TEST(Elementary, ExactWhereTheResultIs) {
  EXPECT_EQ(exponential(0.0), 1.0);
  EXPECT_EQ(exponential(-1000.0), 0.0);
  EXPECT_EQ(logarithm(1.0), 0.0);
  EXPECT_EQ(sine_of_degrees(90.0), 1.0);
  EXPECT_EQ(cosine_of_degrees(180.0), -1.0);
  EXPECT_EQ(integer_power(0.1, 0), 1.0);
  EXPECT_EQ(integer_power(3.0, 13), 1594323.0);
}

}  // namespace
}  // namespace lockstep
