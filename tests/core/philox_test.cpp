#include "core/random/philox.h"
#include "core/random/normal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace lockstep {
namespace {

using Words = std::array<std::uint32_t, 4>;

// Known answers of Random123 1.14 (kat_vectors, philox4x32 10).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox(0, {0, 0, 0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(~0ULL, {~0U, ~0U, ~0U, ~0U}), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(0x299f31d0a4093822ULL, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Uniform, IsTheTop24BitsOver2To24) {
  EXPECT_EQ(uniform(0), 0.0F);
  EXPECT_EQ(uniform(0xffU), 0.0F);
  EXPECT_EQ(uniform(0x100U), 0x1p-24F);
  EXPECT_EQ(uniform(0x80000000U), 0.5F);
  EXPECT_EQ(uniform(~0U), 1.0F - 0x1p-24F);
}

/// Exact probability, below 1/2, that the bits (high, low) represent.
long double lower_probability(std::uint32_t high, std::uint32_t low) {
  const std::uint64_t bits = (std::uint64_t{high} << 20) | (low >> 12);
  return (static_cast<long double>(bits) + 0.5L) * 0x1p-52L;
}

/// Error of the quantile `z` of `probability`: difference of probabilities divided by the density, in long
/// double.
long double quantile_error(double z, long double probability) {
  const long double reached =
      0.5L * std::erfc(-static_cast<long double>(z) / std::numbers::sqrt2_v<long double>);
  const long double density = std::exp(-0.5L * static_cast<long double>(z) * static_cast<long double>(z)) /
                              std::sqrt(2.0L * std::numbers::pi_v<long double>);
  return (reached - probability) / density;
}

TEST(Normal, IsTheQuantileToSixteenDigits) {
  long double worst = 0;
  const auto check = [&](std::uint32_t high, std::uint32_t low) {
    const double z = normal(high, low);
    const long double error = std::fabs(quantile_error(z, lower_probability(high, low)));
    worst = std::max(worst, error / std::max(1.0L, std::fabs(static_cast<long double>(z))));
  };
  for (std::uint32_t i = 0; i < 200000; ++i) {
    const Words words = philox(1, {i, 0, 0, 0});
    check(words[0] >> 1, words[1]);             // lower half, where erfc is accurate
    check(words[2] >> (i % 31 + 1), words[3]);  // far into the tail
  }
  check(0, 0);
  EXPECT_LT(static_cast<double>(worst), 1e-15);
}

TEST(Normal, IsOddAndFinite) {
  for (std::uint32_t i = 0; i < 10000; ++i) {
    const Words words = philox(2, {i, 0, 0, 0});
    EXPECT_EQ(normal(words[0], words[1]), -normal(~words[0], ~words[1]));
  }
  EXPECT_NEAR(normal(0, 0), -8.2095361516013856, 1e-14);
  EXPECT_NEAR(normal(~0U, ~0U), 8.2095361516013856, 1e-14);
}

// These bits must never change: every run's initial weights depend on them.
TEST(Normal, GoldenBits) {
  EXPECT_EQ(normal(0x6627e8d5, 0xe169c58d), -0x1.05f49f2746419p-2);
  EXPECT_EQ(normal(0x01234567, 0x89abcdef), -0x1.4ee2dc0a9e007p+1);
  EXPECT_EQ(normal(0x00000001, 0x00000000), -0x1.8ebc94b459cdfp+2);
}

}  // namespace
}  // namespace lockstep
