#include <gtest/gtest.h>

#include <numeric>

#include "op_case.h"

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

}  // namespace
}  // namespace lockstep::testing
