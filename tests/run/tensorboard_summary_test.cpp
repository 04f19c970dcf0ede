#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "data/image/png.h"
#include "run/report/class_metrics.h"
#include "run/report/confusion_picture.h"
#include "run/tensorboard/record_frame.h"
#include "run/tensorboard/summary.h"
#include "support/text.h"

namespace lockstep::tensorboard {
namespace {

TEST(RecordFrame, SumsAreThoseOfCrc32c) {
  // Masked CRCs of RFC 3720, appendix B.4, and of the check value of CRC-32C, 0xE3069283.
  EXPECT_EQ(masked_crc(std::string(32, '\0')), 0x0FD7FFFAU);
  EXPECT_EQ(masked_crc("123456789"), 0xC78AB0E5U);
  std::string bytes = "x";
  append_frame(bytes, "abc");
  EXPECT_EQ(bytes.size(), 1U + 8 + 4 + 3 + 4);
  EXPECT_EQ(bytes.substr(1, 8), std::string("\3\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(bytes.substr(13, 3), "abc");
}

/// "TAG=NUMBER" for a scalar; only the tag for other values.
test::Words values_of(const Summary& summary) {
  test::Words words;
  for (const Value& value : summary.values) {
    const float* number = std::get_if<float>(&value.content);
    words.push_back(number == nullptr ? value.tag : fmt::format("{}={}", value.tag, *number));
  }
  return words;
}

TEST(Summary, HasTheNumbersOfAStep) {
  StepReport step{
      .epoch = 2, .step = 17, .samples = 256, .loss = 2.25, .learning_rate = 0.5F, .seconds = 0.5};
  EXPECT_EQ(summary_of(step).step, 17);
  EXPECT_EQ(values_of(summary_of(step)),
            (test::Words{"step/samples=256", "step/loss=2.25", "step/learning_rate=0.5", "step/seconds=0.5",
                         "step/images_per_second=512"}));
  step.gradient_norm = 1.5;
  EXPECT_EQ(values_of(summary_of(step)).at(3), "step/gradient_norm=1.5");
}

TEST(Summary, HasTheNumbersOfAnEpoch) {
  const EpochReport epoch{.epoch = 3,
                          .train = {.loss = 0.5, .accuracy = 0.75},
                          .test = {.loss = 0.25, .accuracy = 0.875},
                          .seconds = 4.0,
                          .images_per_second = 25.0,
                          .digest = "xxh3:01"};
  EXPECT_EQ(summary_of(epoch).step, 3);
  EXPECT_EQ(values_of(summary_of(epoch)),
            (test::Words{"epoch/train_loss=0.5", "epoch/train_accuracy=0.75", "epoch/test_loss=0.25",
                         "epoch/test_accuracy=0.875", "epoch/train_left_out=0", "epoch/test_left_out=0",
                         "epoch/images_per_second=25", "epoch/seconds=4"}));
}

TEST(Summary, HasNoTrainingLossOfAnEpochWhoseStepsWereAllLeftOut) {
  EpochReport epoch{.epoch = 1, .train = {}, .test = {.loss = 0.25, .accuracy = 0.875}};
  epoch.train.loss = epoch.train.accuracy = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(values_of(summary_of(epoch)),
            (test::Words{"epoch/test_loss=0.25", "epoch/test_accuracy=0.875", "epoch/train_left_out=0",
                         "epoch/test_left_out=0", "epoch/images_per_second=0", "epoch/seconds=0"}));
}

TEST(Summary, OfConfusionHasAPictureAndATableOfTheClasses) {
  const Summary summary = summary_of(
      ConfusionReport{.epoch = 4, .classes = {"cat", "a|b"}, .samples = {3, 1, 0, 0, 5, 0, 2, 1, 0}});
  EXPECT_EQ(summary.step, 4);
  EXPECT_EQ(values_of(summary).at(0), "confusion/matrix");
  EXPECT_EQ(std::get<Markdown>(summary.values.at(1).content).text,
            "| class | samples | precision | recall | F1 | most often mistaken for |\n"
            "|---|---:|---:|---:|---:|---|\n"
            "| cat | 4 | 0.6000 | 0.7500 | 0.6667 | a\\|b (1) |\n"
            "| a\\|b | 5 | 0.7143 | 1.0000 | 0.8333 | - |\n"
            "| 2 | 3 | 0.0000 | 0.0000 | 0.0000 | cat (2) |\n");
  EXPECT_TRUE(summary_of(ConfusionReport{.epoch = 1, .classes = {}, .samples = {1, 2, 3}}).values.empty());
}

TEST(Summary, OfOtherEventsIsEmpty) {
  EXPECT_TRUE(summary_of(DigestReport{.step = 1, .digest = "xxh3:01"}).values.empty());
  EXPECT_EQ(values_of(summary_of(EndReport{.digest = "xxh3:01"})), test::Words{"digest"});
  EXPECT_TRUE(summary_of("options", {}).values.empty());
  EXPECT_EQ(
      std::get<Markdown>(summary_of("options", {{"lr", "0.1"}, {"data-dir", "a_b\xff"}}).values.at(0).content)
          .text,
      "| | |\n|---|---|\n| lr | 0.1 |\n| data-dir | a\\_b\xef\xbf\xbd |\n");
}

TEST(ConfusionPicture, ShadesTheShareOfEachRow) {
  const ConfusionPicture picture = confusion_picture(std::vector<std::uint64_t>{4, 0, 1, 1});
  Image image;
  PngDecoder decoder;
  decoder.open({reinterpret_cast<const std::uint8_t*>(picture.png.data()), picture.png.size()});
  decoder.decode(3, image);
  ASSERT_EQ(image.width, picture.size);
  const auto red = [&](int row, int column) {
    const int side = picture.size / 2;
    const int y = row * side + side / 2, x = column * side + side / 2;
    return int{image.pixels[static_cast<std::size_t>((y * image.width + x) * 3)]};
  };
  EXPECT_EQ(red(0, 0), 8);
  EXPECT_EQ(red(0, 1), 247);
  EXPECT_EQ(red(1, 0), red(1, 1));
  EXPECT_NEAR(red(1, 0), 128, 1);
}

TEST(ClassMetrics, AreThoseOfScikitLearn) {
  // Results of classification_report(labels=range(4), zero_division=0) for these counts; the last class does
  // not occur.
  const std::vector<std::uint64_t> confusion{3, 1, 0, 0, 0, 5, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0};
  const std::vector<ClassCounts> counts = counts_of(confusion);
  ASSERT_EQ(counts.size(), 4U);
  std::vector<ClassMetrics> metrics;
  for (const ClassCounts& each : counts) metrics.push_back(each.metrics());
  EXPECT_EQ(metrics[0].samples, 4U);
  EXPECT_DOUBLE_EQ(metrics[0].precision, 0.6);
  EXPECT_DOUBLE_EQ(metrics[0].recall, 0.75);
  EXPECT_DOUBLE_EQ(metrics[0].f1, 2.0 / 3.0);
  EXPECT_DOUBLE_EQ(metrics[1].precision, 5.0 / 7.0);
  EXPECT_EQ(metrics[2].f1, 0.0);
  EXPECT_EQ(metrics[3].recall, 0.0);
  const ClassMetrics macro = macro_average(counts);
  EXPECT_EQ(macro.samples, 12U);
  EXPECT_DOUBLE_EQ(macro.precision, (0.6 + 5.0 / 7.0) / 3.0);
  EXPECT_DOUBLE_EQ(macro.recall, 1.75 / 3.0);
  EXPECT_DOUBLE_EQ(macro.f1, (2.0 / 3.0 + 5.0 / 6.0) / 3.0);
}

}  // namespace
}  // namespace lockstep::tensorboard
