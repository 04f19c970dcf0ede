// Augmentations of training images.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include "data/augment/randaugment_ops.h"
#include "data/augment/random_resized_crop.h"
#include "data/feed/transform.h"
#include "support/expect_error.h"
#include "support/synthetic.h"

namespace lockstep {
namespace {

using Pixels = std::vector<std::uint8_t>;
constexpr Shape shape = {.channels = 1, .height = 4, .width = 5};

Pixels counting(std::size_t count = 20) {
  Pixels pixels(count);
  std::iota(pixels.begin(), pixels.end(), std::uint8_t{1});
  return pixels;
}

Pixels augmented(const AugmentOptions& options, const SampleVisit& visit, Pixels pixels = counting()) {
  const Transform transform({}, test::Synthetic(1, shape, 1), options, visit.seed);
  MicroBatchRule rule = transform.rule();
  rule.epoch = visit.epoch;
  Pixels scratch;
  transform.augment_pixels({pixels.data(), shape}, visit, rule.placement(visit.id), scratch);
  return pixels;
}

TEST(Augmentation, DependsOnSeedEpochAndSampleOnly) {
  const AugmentOptions options{.crop_padding = 2, .hflip = 0.5, .randaugment = "rand-m9-n2", .cutout = 2};
  std::set<Pixels> seen;
  for (std::uint64_t id = 0; id < 20; ++id) {
    for (const std::uint32_t epoch : {0U, 1U}) {
      for (const std::uint64_t seed : {0U, 1U}) {
        const SampleVisit visit{.seed = seed, .epoch = epoch, .id = id};
        EXPECT_EQ(augmented(options, visit), augmented(options, visit));
        seen.insert(augmented(options, visit));
      }
    }
  }
  EXPECT_GT(seen.size(), 60U);
  const test::Synthetic images(1, shape, 1);
  EXPECT_TRUE(Transform({}, images, options).changes_pixels());
  EXPECT_FALSE(Transform({}, images).changes_pixels());
}

TEST(Augmentation, FlipSwapsLeftAndRightAsOftenAsAsked) {
  const Pixels flipped = {5, 4, 3, 2, 1, 10, 9, 8, 7, 6, 15, 14, 13, 12, 11, 20, 19, 18, 17, 16};
  int flips = 0;
  for (std::uint64_t id = 0; id < 1000; ++id) {
    EXPECT_EQ(augmented({.hflip = 1.0}, {.id = id}), flipped);
    flips += augmented({.hflip = 0.25}, {.id = id}) == flipped ? 1 : 0;
  }
  EXPECT_NEAR(flips, 250, 50);
}

TEST(Augmentation, CropShiftsByUpToThePadding) {
  std::set<std::pair<int, int>> shifts;
  for (std::uint64_t id = 0; id < 500; ++id) {
    const Pixels cropped = augmented({.crop_padding = 1}, {.id = id});
    for (int down = -1; down <= 1; ++down) {
      for (int right = -1; right <= 1; ++right) {
        Pixels expected(20);
        for (int y = 0; y < 4; ++y) {
          for (int x = 0; x < 5; ++x) {
            const bool inside = y + down >= 0 && y + down < 4 && x + right >= 0 && x + right < 5;
            expected[static_cast<std::size_t>(5 * y + x)] =
                static_cast<std::uint8_t>(inside ? 5 * (y + down) + x + right + 1 : 0);
          }
        }
        if (expected == cropped) shifts.insert({down, right});
      }
    }
  }
  EXPECT_EQ(shifts.size(), 9U);
  EXPECT_EQ(augmented({.crop_padding = 1000}, {.id = 1}), Pixels(20));
}

TEST(Augmentation, CutoutBlackensASquareThatMayHangOverTheEdge) {
  std::set<std::size_t> sizes;
  for (std::uint64_t id = 0; id < 200; ++id) {
    const Pixels cut = augmented({.cutout = 2}, {.id = id});
    sizes.insert(static_cast<std::size_t>(std::count(cut.begin(), cut.end(), 0)));
  }
  EXPECT_EQ(sizes, (std::set<std::size_t>{1, 2, 4}));
}

TEST(Augmentation, CutoutLeavesSomethingOfSomeImages) {
  int black = 0;
  for (std::uint64_t id = 0; id < 200; ++id) {
    black += augmented({.cutout = 8}, {.id = id}) == Pixels(20) ? 1 : 0;
  }
  EXPECT_GT(black, 0);
  EXPECT_LT(black, 200);
  expect_error(Category::usage, {"cutout: 9 blackens all of every training image", "4x5", "at most 8"},
               [] { augmented({.cutout = 9}, {}); });
}

TEST(Augmentation, RandAugmentNamesWhatItTakes) {
  for (const char* text : {"rand", "rand-m9", "rand-m31-n2", "rand-m9-n0", "rand-m9-n2x", "rand-m-n2"}) {
    expect_error(Category::usage, {text, "rand-mM-nN"}, [&] { augmented({.randaugment = text}, {}); });
  }
  EXPECT_EQ(augmented({.randaugment = "rand-m0-n1"}, {.id = 7}).size(), 20U);
}

TEST(RandomResizedCrop, StaysInsideAndKeepsItsBounds) {
  const AugmentOptions options;
  double area = 0.0;
  for (std::uint64_t id = 0; id < 2000; ++id) {
    const Box box = random_resized_crop(options, {500, 400}, {.id = id});
    EXPECT_GE(box.left, 0.0);
    EXPECT_GE(box.top, 0.0);
    EXPECT_LE(box.left + box.width, 500.0);
    EXPECT_LE(box.top + box.height, 400.0);
    EXPECT_GT(box.width / box.height, 0.74);
    EXPECT_LT(box.width / box.height, 1.35);
    EXPECT_GT(box.width * box.height / 200000.0, 0.079);
    area += box.width * box.height / 200000.0 / 2000.0;
  }
  EXPECT_NEAR(area, 0.5, 0.05);
  // No crop of these aspect ratios and scales fits an image 100 times as wide as high, so the center is used.
  const Box middle = random_resized_crop({.scale = {1.0, 1.0}}, {1000, 10}, {.id = 1});
  EXPECT_EQ(middle.width, 13.0);
  EXPECT_EQ(middle.left, 493.0);
  EXPECT_EQ(random_resized_crop(options, {1, 1}, {}).width, 1.0);
}

TEST(Mixup, SharesHaveTheMomentsOfTheBetaDistribution) {
  for (const double alpha : {0.05, 0.2, 1.0, 4.0}) {
    double sum = 0.0;
    double squares = 0.0;
    constexpr std::uint32_t count = 20000;
    for (std::uint32_t number = 0; number < count; ++number) {
      const double share = static_cast<double>(mixup_share(alpha, 1, 2, number));
      ASSERT_GE(share, 0.0);
      ASSERT_LE(share, 1.0);
      sum += share;
      squares += (share - 0.5) * (share - 0.5);
    }
    EXPECT_NEAR(sum / count, 0.5, 0.01) << alpha;
    EXPECT_NEAR(squares / count, 1.0 / (4.0 * (2.0 * alpha + 1.0)), 0.004) << alpha;
  }
  EXPECT_EQ(mixup_share(0.2, 1, 2, 3), mixup_share(0.2, 1, 2, 3));
}

Pixels changed(const std::function<void(Planes)>& work, Pixels pixels, Shape of) {
  work({pixels.data(), of});
  return pixels;
}

TEST(RandAugmentOps, Values) {
  constexpr Shape line = {.channels = 1, .height = 1, .width = 4};
  const Pixels values = {0, 10, 128, 255};
  const std::vector<std::pair<std::function<void(Planes)>, Pixels>> cases = {
      {[](Planes image) { adjust_brightness(image, 1.5); }, {0, 15, 192, 255}},
      {[](Planes image) { adjust_brightness(image, 0.5); }, {0, 5, 64, 128}},
      {[](Planes image) { adjust_contrast(image, 0.0); }, {98, 98, 98, 98}},
      {[](Planes image) { adjust_contrast(image, 1.0); }, values},
      {[](Planes image) { posterize(image, 4); }, {0, 0, 128, 240}},
      {[](Planes image) { posterize(image, 8); }, values},
      {[](Planes image) { solarize(image, 128.0); }, {0, 10, 127, 0}},
      {[](Planes image) { autocontrast(image); }, values},
      {[](Planes image) { equalize(image); }, values}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(changed(cases[i].first, values, line), cases[i].second) << i;
  }
  EXPECT_EQ(changed(autocontrast, {50, 60, 70, 100}, line), (Pixels{0, 51, 102, 255}));
  EXPECT_EQ(changed(autocontrast, {9, 9, 9, 9}, line), (Pixels{9, 9, 9, 9}));
  const auto grey = [](Planes image) { adjust_color(image, 0.0); };
  EXPECT_EQ(changed(grey, {255, 0, 0}, {.channels = 3, .height = 1, .width = 1}), (Pixels{76, 76, 76}));
}

TEST(RandAugment, DropsAWholeNumberOfBits) {
  for (const auto& [magnitude, bits] :
       {std::pair(4, 7), std::pair(11, 7), std::pair(12, 6), std::pair(30, 4)}) {
    std::set<Pixels> seen;
    for (std::uint64_t id = 0; id < 200; ++id) {
      seen.insert(augmented({.randaugment = "rand-m" + std::to_string(magnitude) + "-n1"}, {.id = id}));
    }
    const auto drop = [bits = bits](Planes image) { posterize(image, bits); };
    EXPECT_TRUE(seen.contains(changed(drop, counting(), shape))) << magnitude;
  }
}

TEST(RandAugmentOps, EqualizeFlattensTheHistogram) {
  Pixels pixels(1024);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(100 + i / 256);
  const Pixels flat = changed(equalize, pixels, {.channels = 1, .height = 32, .width = 32});
  EXPECT_EQ((std::set<std::uint8_t>(flat.begin(), flat.end())), (std::set<std::uint8_t>{0, 85, 171, 255}));
}

TEST(RandAugmentOps, Geometry) {
  constexpr Shape square = {.channels = 1, .height = 3, .width = 3};
  const Pixels image = counting(9);
  Pixels scratch;
  const auto mapped = [&](const AffineMap& map) {
    return changed([&](Planes planes) { affine(planes, map, scratch); }, image, square);
  };
  EXPECT_EQ(mapped({}), image);
  EXPECT_EQ(mapped({.c = 1.0}), (Pixels{2, 3, 0, 5, 6, 0, 8, 9, 0}));
  EXPECT_EQ(mapped({.f = -1.0}), (Pixels{0, 0, 0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(mapped({.b = 1.0}), (Pixels{2, 3, 0, 6, 0, 0, 0, 0, 0}));
  EXPECT_EQ(mapped(rotation(90.0, square)), (Pixels{3, 6, 9, 2, 5, 8, 1, 4, 7}));
  EXPECT_EQ(mapped(rotation(0.0, square)), image);
  const auto sharper = [&](Planes planes) { adjust_sharpness(planes, 0.0, scratch); };
  EXPECT_EQ(changed(sharper, {0, 0, 0, 0, 130, 0, 0, 0, 0}, square), (Pixels{0, 0, 0, 0, 50, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace lockstep
