#include "core/finite.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace lockstep {
namespace {

using Limits = std::numeric_limits<float>;

TEST(Finite, NumbersAre) {
  const std::vector<float> values{0.0F, -0.0F, Limits::max(), Limits::lowest(), Limits::denorm_min(), 1.0F};
  EXPECT_TRUE(all_finite(values));
  EXPECT_TRUE(all_finite({}));
}

TEST(Finite, OtherValuesAreNotAtAnyPlace) {
  for (const float value : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(),
                            -Limits::quiet_NaN(), Limits::signaling_NaN()}) {
    for (std::size_t place = 0; place < 19; ++place) {
      std::vector<float> values(19, 0.5F);
      values[place] = value;
      EXPECT_FALSE(all_finite(values)) << value << " at " << place;
    }
  }
}

}  // namespace
}  // namespace lockstep
