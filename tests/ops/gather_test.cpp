#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "lanes.h"
#include "support/host_micro_batch.h"

namespace lockstep::testing {
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

TEST(Gather, CropsAndFillsMissingLanes) {
  const Shape source{2, 9, 21};
  std::vector<std::vector<std::uint8_t>> images(16, std::vector<std::uint8_t>(source.size()));
  std::mt19937 generator(3);
  for (auto& image : images) {
    std::generate(image.begin(), image.end(), [&] { return static_cast<std::uint8_t>(generator()); });
  }
  for (const cpu::Level level : cpu::available_levels()) {
    for (const Shape target : {source, Shape{2, 8, 18}, Shape{2, 9, 16}, Shape{2, 1, 1}, Shape{2, 3, 5}}) {
      for (const int count : {1, 7, 16}) {
        Lanes out(target.size() * 16);
        const HostMicroBatch some(static_cast<std::size_t>(count));
        for (std::size_t i = 0; i < some.batch.size; ++i) {
          some.batch.samples[i] = reinterpret_cast<const std::byte*>(images[i].data());
        }
        cpu::gather(level, some.batch, {.shape = source}, 0, target, out.data());
        ASSERT_TRUE(out.end_intact());
        for (std::size_t i = 0; i < out.size(); ++i) {
          const auto lane = i % 16;
          const auto pixel = static_cast<int>(i / 16);
          const int column = pixel % target.width;
          const int row = pixel / target.width % target.height;
          const int channel = pixel / target.width / target.height;
          const auto at = static_cast<std::size_t>((channel * source.height + row) * source.width + column);
          const float expected =
              lane < static_cast<std::size_t>(count) ? static_cast<float>(images[lane][at]) / 255.0F : 0.0F;
          ASSERT_EQ(out.data()[i], expected) << i;
        }
      }
    }
  }
}

/// Two samples with 2 channels of 70 columns, so that rows are gathered in parts; as bytes and as floats.
TEST(Gather, NormalizesEachChannelAndBlendsPartners) {
  const Shape shape{2, 2, 70};
  std::vector<std::uint8_t> bytes[2];
  std::vector<float> numbers[2];
  for (std::size_t s = 0; s < 2; ++s) {
    for (std::size_t i = 0; i < shape.size(); ++i) {
      bytes[s].push_back(static_cast<std::uint8_t>(i * (s + 3) % 256));
      numbers[s].push_back(static_cast<float>(bytes[s].back()) / 255.0F);
    }
  }
  const float mean[] = {0.3F, 0.5F};
  const float deviation[] = {0.2F, 0.7F};
  const float share[] = {0.3F, 0.9F};
  const auto check = [&](cpu::Level level, bool floats, bool mixes) {
    const HostMicroBatch two(2, mixes);
    for (std::size_t s = 0; s < 2; ++s) {
      two.batch.samples[s] = floats ? reinterpret_cast<const std::byte*>(numbers[s].data())
                                    : reinterpret_cast<const std::byte*>(bytes[s].data());
      if (mixes) two.batch.shares[s] = share[s];
    }
    Lanes out(shape.size() * 16);
    cpu::gather(level, two.batch, {shape, floats, mean, deviation}, 0, shape, out.data());
    ASSERT_TRUE(out.end_intact());
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const std::size_t c = i / 140;
      const float value[] = {(numbers[0][i] - mean[c]) / deviation[c],
                             (numbers[1][i] - mean[c]) / deviation[c]};
      for (std::size_t s = 0; s < 2; ++s) {
        const float blend = std::fma(share[s], value[s], (1.0F - share[s]) * value[1 - s]);
        ASSERT_EQ(out.data()[i * 16 + s], mixes ? blend : value[s]) << i;
      }
      ASSERT_EQ(out.data()[i * 16 + 2], 0.0F);
    }
  };
  for (const cpu::Level level : cpu::available_levels()) {
    for (const bool floats : {false, true}) {
      for (const bool mixes : {false, true}) check(level, floats, mixes);
    }
  }
}

}  // namespace
}  // namespace lockstep::testing
