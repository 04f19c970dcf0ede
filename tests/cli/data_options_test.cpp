// Options of data sets and of the preparation and augmentation of samples.
#include <gtest/gtest.h>

#include "cli/parse_options.h"

namespace lockstep {
namespace {

TEST(TrainOptions, DataAndAugmentation) {
  const TrainOptions options = parse_line(
      "--dataset synthetic --synthetic-shape 3x20x30 --classes 7 --samples 90 --mean imagenet --std 0.5 "
      "--strict "
      "--random-resized-crop --scale 0.2,0.9 --ratio 0.5,2 --crop-padding 4 --hflip 0.5 --cutout 8 --mixup "
      "0.2 "
      "--randaugment rand-m9-n2");
  EXPECT_EQ(options.data.shape, (Shape{3, 20, 30}));
  EXPECT_EQ(options.data.classes, 7);
  EXPECT_EQ(options.training.input.mean, (std::vector<double>{0.485, 0.456, 0.406}));
  EXPECT_EQ(options.training.input.deviation, std::vector<double>{0.5});
  EXPECT_TRUE(options.training.input.strict);
  EXPECT_EQ(options.training.augment, (AugmentOptions{.random_resized_crop = true,
                                                      .scale = {0.2, 0.9},
                                                      .ratio = {0.5, 2.0},
                                                      .crop_padding = 4,
                                                      .hflip = 0.5,
                                                      .randaugment = "rand-m9-n2",
                                                      .cutout = 8,
                                                      .mixup = 0.2}));
  EXPECT_EQ(parse_file(train_config(options)), options);
}

TEST(TrainOptions, BadDataAndAugmentation) {
  expect_usage({"--synthetic-shape", "3x20"}, {"synthetic-shape", "'3x20' is not CHANNELSxROWSxCOLUMNS"});
  expect_usage({"--synthetic-shape", "3x0x2"}, {"synthetic-shape", "'0'"});
  expect_usage({"--scale", "0.5"}, {"scale", "'0.5' is not MIN,MAX with MIN <= MAX"});
  expect_usage({"--ratio", "2,1"}, {"ratio", "'2,1' is not MIN,MAX"});
  expect_usage({"--mean", "imagenett"},
               {"--mean: unknown set of statistics 'imagenett'; did you mean 'imagenet'? known: mnist"});
  expect_usage({"--mean", "0.5,"}, {"--mean: '0.5,' has a comma with no number"});
  expect_usage({"--mean", ",0.5"}, {"--mean: ',0.5' has a comma with no number"});
  expect_usage({"--std", "0.5,-1"}, {"--std: '-1' is out of range: above 0"});
  expect_usage({"--scale", "0.5,1,"}, {"--scale: '0.5,1,' has a comma"});
  expect_usage({"--decay-milestones", "1,,2"}, {"--decay-milestones: '1,,2' has a comma"});
  expect_usage({"--hflip", "1.5"}, {"--hflip: '1.5' is out of range: 0 to 1"});
  expect_usage({"--crop-pct", "2"}, {"--crop-pct: '2' is out of range: 0.01 to 1"});
  expect_usage({"--mixup", "1e6"}, {"--mixup: '1e6' is out of range: 0 to 1000"});
  expect_usage({"--channels", "2"}, {"--channels: '2' is not one of 3, 1"});
  EXPECT_EQ(parse({"--hflip", "1"}).training.augment.hflip, 1.0);
  EXPECT_EQ(parse({"--mean=-0.5,0,1e-1"}).training.input.mean, (std::vector<double>{-0.5, 0.0, 0.1}));
  EXPECT_EQ(parse({"--std", "cifar100"}).training.input.deviation,
            (std::vector<double>{0.2673, 0.2564, 0.2762}));
  EXPECT_EQ(parse({"--mean", "mnist"}).training.input.mean, std::vector<double>{0.1307});
}

}  // namespace
}  // namespace lockstep
