#include "cli/predict/prediction_printer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cli/model/target_text.h"
#include "cli/predict/inputs.h"
#include "support/text.h"

namespace lockstep {
namespace {

const std::vector<float> logits = {0.0F, 1.0F, 1.0F, 9.0F, 9.0F, 9.0F, -2.0F, 3.0F, 0.5F};
const std::vector<UnreadableSample> unreadable = {{.sample = 11, .reason = "no \"b\".jpg: is empty"}};

/// Printed text of samples 10, 11 and 12. Sample 11 cannot be read.
std::string printed(PredictionFormat format, std::size_t top) {
  std::vector<std::string> names(10, "x");
  names.insert(names.end(), {"a,1.jpg", "no \"b\".jpg", "c\n.jpg"});
  const auto files = find_images(names, {3, 8, 8}).samples;
  const auto printer = print_classes(*files, {"cat", "hot \"dog\"", "cow"}, top, format);
  return printer->head() + printer->text({10, 3, logits, unreadable});
}

TEST(PredictionPrinter, Text) {
  EXPECT_EQ(printed(PredictionFormat::text, 1),
            "a,1.jpg  hot \"dog\" 0.4223\n"
            "c?.jpg  hot \"dog\" 0.9184\n");
  EXPECT_EQ(printed(PredictionFormat::text, 9),
            "a,1.jpg  hot \"dog\" 0.4223  cow 0.4223  cat 0.1554\n"
            "c?.jpg  hot \"dog\" 0.9184  cow 0.0754  cat 0.0062\n");
}

TEST(PredictionPrinter, Csv) {
  EXPECT_EQ(printed(PredictionFormat::csv, 2),
            "input,class,probability\n"
            "\"a,1.jpg\",\"hot \"\"dog\"\"\",0.422319\n"
            "\"a,1.jpg\",cow,0.422319\n"
            "\"c\n.jpg\",\"hot \"\"dog\"\"\",0.918423\n"
            "\"c\n.jpg\",cow,0.075389\n");
}

TEST(PredictionPrinter, Json) {
  const std::string text = printed(PredictionFormat::json, 1);
  EXPECT_TRUE(
      text.starts_with(R"({"input":"a,1.jpg","classes":[{"class":"hot \"dog\"","probability":0.42231)"))
      << text;
  test::expect_holds(text,
                     "\n"
                     R"({"input":"no \"b\".jpg","error":"no \"b\".jpg: is empty"})"
                     "\n"
                     R"({"input":"c\n.jpg","classes":)");
}

TEST(PredictionPrinter, OutputsThatAreNotNumbers) {
  const auto files = find_images({"a"}, {3, 8, 8}).samples;
  const auto printer = print_classes(*files, {"cat", "dog"}, 1, PredictionFormat::json);
  const std::vector<float> outputs = {std::numeric_limits<float>::quiet_NaN(), 1.0F};
  EXPECT_EQ(printer->text({0, 1, outputs, {}}),
            "{\"input\":\"a\",\"classes\":[{\"class\":\"dog\",\"probability\":null}]}\n");
}

/// Printed text of three samples with labels. The second has no probable label, and the third cannot be read.
std::string printed_labels(PredictionFormat format, std::optional<std::size_t> top) {
  const auto files = find_images({"a,1", "b", "c"}, {3, 8, 8}).samples;
  const std::vector<float> outputs = {0.5F, -1.0F, 2.0F, 0.0F, -3.0F, -1.0F, 0.0F, 0.0F, 0.0F};
  const std::vector<UnreadableSample> third = {{.sample = 2, .reason = "c: is empty"}};
  const auto printer = print_labels(*files, {"sea", "sky", "sun"}, top, format);
  return printer->head() + printer->text({0, 3, outputs, third});
}

TEST(PredictionPrinter, LabelsAboveOneHalfOrTheMostProbableOnes) {
  EXPECT_EQ(printed_labels(PredictionFormat::text, {}), "a,1  sun 0.8808  sea 0.6225\nb\n");
  EXPECT_EQ(printed_labels(PredictionFormat::text, 1), "a,1  sun 0.8808\nb  sea 0.5000\n");
  EXPECT_EQ(printed_labels(PredictionFormat::text, 9),
            "a,1  sun 0.8808  sea 0.6225  sky 0.2689\nb  sea 0.5000  sun 0.2689  sky 0.0474\n");
  EXPECT_EQ(printed_labels(PredictionFormat::csv, {}),
            "input,label,probability\n\"a,1\",sun,0.880797\n\"a,1\",sea,0.622459\nb,,\n");
  EXPECT_EQ(printed_labels(PredictionFormat::json, {}),
            R"({"input":"a,1","labels":[{"label":"sun","probability":0.8807970779778823},)"
            R"({"label":"sea","probability":0.6224593312018546}]})"
            "\n"
            R"({"input":"b","labels":[]})"
            "\n"
            R"({"input":"c","error":"c: is empty"})"
            "\n");
}

/// Printed text of three predicted numbers in the unit of `scale`. The second sample cannot be read.
std::string printed_numbers(const TargetScale& scale, PredictionFormat format) {
  const auto files = find_images({"a,1", "b", "c"}, {3, 8, 8}).samples;
  const std::vector<float> outputs = {1.5F, 0.0F, -2.0F};
  const std::vector<UnreadableSample> second = {{.sample = 1, .reason = "b: is empty"}};
  const auto printer = print_numbers(*files, "price", scale, format);
  return printer->head() + printer->text({0, 3, outputs, second});
}

TEST(NumberPrinter, NumbersAreInTheirUnit) {
  const TargetScale scale{.mean = 10.0, .deviation = 4.0};
  EXPECT_EQ(printed_numbers(scale, PredictionFormat::text), "a,1  price 16.0000\nc  price 2.0000\n");
  EXPECT_EQ(printed_numbers(scale, PredictionFormat::csv), "input,prediction\n\"a,1\",16.0000\nc,2.0000\n");
  EXPECT_EQ(printed_numbers(scale, PredictionFormat::json),
            "{\"input\":\"a,1\",\"prediction\":16.0}\n"
            "{\"input\":\"b\",\"error\":\"b: is empty\"}\n"
            "{\"input\":\"c\",\"prediction\":2.0}\n");
}

TEST(NumberPrinter, DigitsFollowTheDeviation) {
  const std::pair<TargetScale, const char*> rows[] = {
      {{.mean = 2000.0, .deviation = 0.02}, "2000.030000"},
      {{.mean = 0.0, .deviation = 300.0}, "450.00"},
      {{.mean = 0.0, .deviation = 1e6}, "1500000"},
      {{.mean = 0.0, .deviation = 1e-9}, "0.0000000015000"},
      {{.mean = 0.0, .deviation = 1e-300}, "1.5000e-300"},
      {{.mean = 1.0, .deviation = 0.0}, "1.000000000000000"},
  };
  for (const auto& row : rows) {
    EXPECT_TRUE(printed_numbers(row.first, PredictionFormat::text)
                    .starts_with(std::string("a,1  price ") + row.second + "\n"))
        << printed_numbers(row.first, PredictionFormat::text);
  }
}

TEST(TableNumber, LacksTheErrorOfTheFloat) {
  const std::pair<TargetScale, std::vector<double>> rows[] = {
      {{.mean = 4.825, .deviation = 2.8056861688072496}, {0.0, 0.1, 1.5, -9.3, 901.5, 1e6}},
      {{.mean = 1000.0 / 3.0, .deviation = 300.0}, {0.0, 0.1, -3.25, 1000.0}},
      {{.mean = 1e9 / 3.0, .deviation = 1e9}, {0.0, 2e9, 3e12}},
      {{.mean = 3e-9, .deviation = 1e-9}, {0.0, 1.5e-9}},
  };
  for (const auto& [scale, numbers] : rows) {
    for (const double number : numbers) {
      const double found = table_number(static_cast<float>((number - scale.mean) / scale.deviation), scale);
      EXPECT_DOUBLE_EQ(found, number) << scale.deviation;
      EXPECT_EQ(std::signbit(found), std::signbit(number)) << number;
    }
  }
}

}  // namespace
}  // namespace lockstep
