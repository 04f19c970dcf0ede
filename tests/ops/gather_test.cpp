#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>
#include <random>

#include "ops/cpu/op.h"
#include "ops/lanes.h"
#include "support/host_micro_batch.h"

namespace lockstep::test {
namespace {

TEST(Gather, EveryByteIsDividedBy255) {
  std::vector<std::uint8_t> image(256);
  std::iota(image.begin(), image.end(), std::uint8_t{0});
  const HostMicroBatch one(1);
  one.batch.samples[0] = reinterpret_cast<const std::byte*>(image.data());
  for (const cpu::Level level : cpu::available_levels()) {
    Lanes out(256 * 16);
    cpu::gather(level, one.batch, {.shape = {1, 16, 16}}, 0, {1, 16, 16}, out.data());
    for (std::size_t i = 0; i < 256; ++i) {
      EXPECT_EQ(out.data()[i * 16], static_cast<float>(i) / 255.0F);
      EXPECT_EQ(out.data()[i * 16 + 1], 0.0F);
    }
  }
}

/// Rows of 70 columns are gathered in parts; samples are bytes or floats.
TEST(Gather, CropsNormalizesBlendsPartnersAndFillsMissingLanes) {
  constexpr Shape source{2, 9, 70};
  const float mean[] = {0.3F, 0.5F};
  const float deviation[] = {0.2F, 0.7F};
  std::array<std::vector<std::uint8_t>, 16> bytes;
  std::array<std::vector<float>, 16> numbers;
  std::mt19937 generator(3);
  for (std::size_t s = 0; s < 16; ++s) {
    for (std::size_t i = 0; i < source.size(); ++i) {
      bytes[s].push_back(static_cast<std::uint8_t>(generator()));
      numbers[s].push_back(static_cast<float>(bytes[s].back()) / 255.0F);
    }
  }
  const auto check = [&](cpu::Level level, Shape target, std::size_t samples, bool floats, bool mixes) {
    const HostMicroBatch some(samples, mixes);
    for (std::size_t s = 0; s < samples; ++s) {
      some.batch.samples[s] = floats ? reinterpret_cast<const std::byte*>(numbers[s].data())
                                     : reinterpret_cast<const std::byte*>(bytes[s].data());
      if (mixes) some.batch.shares[s] = 0.9F - 0.05F * static_cast<float>(s);
    }
    Lanes out(target.size() * 16);
    cpu::gather(level, some.batch, {source, floats, mean, deviation}, 0, target, out.data());
    ASSERT_TRUE(out.end_intact());
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto pixel = static_cast<int>(i / 16);
      const int row = pixel / target.width, channel = row / target.height;
      const auto at = static_cast<std::size_t>(
          (channel * source.height + row % target.height) * source.width + pixel % target.width);
      const auto value = [&](std::size_t s) { return (numbers[s][at] - mean[channel]) / deviation[channel]; };
      const std::size_t s = i % 16;
      float expected = s < samples ? value(s) : 0.0F;
      if (mixes && s < samples) {
        const float share = some.batch.shares[s];
        expected = std::fma(share, value(s), (1.0F - share) * value(samples - 1 - s));
      }
      ASSERT_EQ(out.data()[i], expected) << i;
    }
  };
  for (const cpu::Level level : cpu::available_levels()) {
    for (const Shape target : {source, Shape{2, 8, 67}, Shape{2, 9, 16}, Shape{2, 1, 1}, Shape{2, 3, 5}}) {
      for (const std::size_t samples : {1U, 7U, 16U}) check(level, target, samples, false, false);
    }
    for (const bool floats : {false, true}) {
      for (const bool mixes : {false, true}) check(level, {2, 8, 67}, 6, floats, mixes);
    }
  }
}

}  // namespace
}  // namespace lockstep::test
