#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "lanes.h"

namespace lockstep::testing {
namespace {

TEST(Gather, EveryByteIsDividedBy255) {
  std::vector<std::uint8_t> image(256);
  std::iota(image.begin(), image.end(), std::uint8_t{0});
  const std::uint8_t* images[1] = {image.data()};
  const std::int32_t one_label[1] = {0};
  for (const cpu::Level level : cpu::available_levels()) {
    Lanes out(256 * 16);
    cpu::gather_group(level)({.images = images, .labels = one_label}, 0, {1, 16, 16}, {1, 16, 16},
                             out.data());
    for (std::size_t i = 0; i < 256; ++i) {
      EXPECT_EQ(out.data()[i * 16], static_cast<float>(i) / 255.0F);
      EXPECT_EQ(out.data()[i * 16 + 1], 0.0F);
    }
  }
}

TEST(Gather, CropsAndFillsMissingLanes) {
  const Shape source{2, 9, 21};
  std::vector<std::vector<std::uint8_t>> images(16, std::vector<std::uint8_t>(source.size()));
  std::vector<const std::uint8_t*> pointers;
  const std::vector<std::int32_t> labels(16);
  std::mt19937 generator(3);
  for (auto& image : images) {
    std::generate(image.begin(), image.end(), [&] { return static_cast<std::uint8_t>(generator()); });
    pointers.push_back(image.data());
  }
  for (const cpu::Level level : cpu::available_levels()) {
    for (const Shape target : {source, Shape{2, 8, 18}, Shape{2, 9, 16}, Shape{2, 1, 1}, Shape{2, 3, 5}}) {
      for (const int count : {1, 7, 16}) {
        Lanes out(target.size() * 16);
        const auto samples = static_cast<std::size_t>(count);
        cpu::gather_group(level)(
            {.images = std::span(pointers).first(samples), .labels = std::span(labels).first(samples)}, 0,
            source, target, out.data());
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

/// Two samples of 70 columns and 2 channels, so that rows are cut into parts; as bytes and as floats.
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
  const std::uint8_t* images[] = {bytes[0].data(), bytes[1].data()};
  const std::uint8_t* other_images[] = {bytes[1].data(), bytes[0].data()};
  const float* floats[] = {numbers[0].data(), numbers[1].data()};
  const float* other_floats[] = {numbers[1].data(), numbers[0].data()};
  const std::int32_t labels[] = {0, 1};
  const float mean[] = {0.3F, 0.5F};
  const float deviation[] = {0.2F, 0.7F};
  const float share[] = {0.3F, 0.9F};
  const Batch bytes_alone{.images = images, .labels = labels, .mean = mean, .deviation = deviation};
  const Batch floats_alone{.floats = floats, .labels = labels, .mean = mean, .deviation = deviation};
  Batch bytes_mixed = bytes_alone;
  bytes_mixed.other_images = other_images;
  bytes_mixed.share = share;
  Batch floats_mixed = floats_alone;
  floats_mixed.other_floats = other_floats;
  floats_mixed.share = share;
  for (const cpu::Level level : cpu::available_levels()) {
    for (const Batch* batch :
         std::vector<const Batch*>{&bytes_alone, &floats_alone, &bytes_mixed, &floats_mixed}) {
      Lanes out(shape.size() * 16);
      cpu::gather_group(level)(*batch, 0, shape, shape, out.data());
      ASSERT_TRUE(out.end_intact());
      for (std::size_t i = 0; i < shape.size(); ++i) {
        const std::size_t c = i / 140;
        const float value[] = {(numbers[0][i] - mean[c]) / deviation[c],
                               (numbers[1][i] - mean[c]) / deviation[c]};
        for (std::size_t s = 0; s < 2; ++s) {
          const float blend = std::fma(share[s], value[s], (1.0F - share[s]) * value[1 - s]);
          ASSERT_EQ(out.data()[i * 16 + s], batch->share.empty() ? value[s] : blend) << i;
        }
        ASSERT_EQ(out.data()[i * 16 + 2], 0.0F);
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::testing
