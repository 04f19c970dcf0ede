#include "cli/model/eval_results.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/model/sample_predictions.h"
#include "core/json/json.h"
#include "support/synthetic.h"
#include "support/temporary_folder.h"

namespace lockstep {
namespace {

EvalResults results_of_three_classes() {
  return {.part = "test",
          .evaluation = {.classes = 3,
                         .samples = 12,
                         .skipped = 1,
                         .loss = 0.5,
                         .accuracy = 0.625,
                         .top5 = 1.0,
                         .confusion = {3, 1, 0, 0, 5, 0, 2, 1, 0}},
          .class_names = {"cat", "dog", "2"},
          .calibration_error = 0.25,
          .digest = "xxh3:01"};
}

TEST(EvalResults, Texts) {
  EXPECT_EQ(text_of(results_of_three_classes()),
            "test loss 0.5000  test acc 0.6250  samples 12\n"
            "macro precision 0.4381  macro recall 0.5833  macro F1 0.5000  calibration error 0.2500\n");
  EXPECT_EQ(class_table(results_of_three_classes()),
            "class                 samples  precision   recall       F1\n"
            "cat                         4     0.6000   0.7500   0.6667\n"
            "dog                         5     0.7143   1.0000   0.8333\n"
            "2                           3     0.0000   0.0000   0.0000\n");
  EXPECT_EQ(confusion_table(results_of_three_classes()),
            "class                     0      1      2\n"
            "0 cat                     3      1      0\n"
            "1 dog                     0      5      0\n"
            "2 2                       2      1      0\n");
  EvalResults uncounted = results_of_three_classes();
  uncounted.evaluation.confusion.clear();
  uncounted.calibration_error.reset();
  uncounted.evaluation.classes = 6;
  EXPECT_EQ(text_of(uncounted), "test loss 0.5000  test acc 0.6250  samples 12  top-5 acc 1.0000\n");
}

EvalResults results_of_two_labels() {
  return {.part = "test",
          .evaluation = {.task = Task::multilabel,
                         .classes = 2,
                         .samples = 10,
                         .loss = 0.5,
                         .accuracy = 0.75,
                         .mean_average_precision = 0.875,
                         .labels = {{.samples = 4, .predicted = 5, .correct = 3, .average_precision = 0.875},
                                    {}}},
          .class_names = {"sea", "sun"},
          .digest = "xxh3:01"};
}

TEST(EvalResults, OfLabels) {
  EXPECT_EQ(text_of(results_of_two_labels()),
            "test loss 0.5000  test mAP 0.8750  test acc 0.7500  samples 10\n"
            "macro precision 0.6000  macro recall 0.7500  macro F1 0.6667\n");
  EXPECT_EQ(class_table(results_of_two_labels()),
            "label                 samples  precision   recall       F1       AP\n"
            "sea                         4     0.6000   0.7500   0.6667   0.8750\n"
            "sun                         0     0.0000   0.0000   0.0000        -\n");
  const auto document = json_of(results_of_two_labels());
  EXPECT_EQ(document["classes"][0].dump(),
            R"({"name":"sea","samples":4,"precision":0.6,"recall":0.75,"f1":0.6666666666666666,)"
            R"("average_precision":0.875})");
  EXPECT_TRUE(document["classes"][1]["average_precision"].is_null());
  EXPECT_EQ(document["mean_average_precision"], 0.875);
}

TEST(EvalResults, Document) {
  EXPECT_EQ(
      json_of(results_of_three_classes()).dump(),
      R"({"part":"test","samples":12,"left_out":1,"loss":0.5,"accuracy":0.625,"top5_accuracy":1.0,)"
      R"("macro":{"precision":0.4380952380952381,"recall":0.5833333333333334,"f1":0.5},)"
      R"("calibration_error":0.25,"classes":[)"
      R"({"name":"cat","samples":4,"precision":0.6,"recall":0.75,"f1":0.6666666666666666,"average_precision":null},)"
      R"({"name":"dog","samples":5,"precision":0.7142857142857143,"recall":1.0,"f1":0.8333333333333334,"average_precision":null},)"
      R"({"name":"2","samples":3,"precision":0.0,"recall":0.0,"f1":0.0,"average_precision":null}],)"
      R"("confusion":[[3,1,0],[0,5,0],[2,1,0]],"digest":"xxh3:01"})");
  EvalResults uncounted = results_of_three_classes();
  uncounted.evaluation.confusion.clear();
  EXPECT_TRUE(json_of(uncounted)["macro"].is_null());
}

TEST(SamplePredictions, AreALinePerSample) {
  const TemporaryFolder folder;
  test::Synthetic dataset(4, {1, 1, 1}, 2);
  dataset.sample_word = "photo, ";
  SamplePredictions predictions(dataset, {"cat", "\"dog\""}, folder / "out.csv");
  const std::vector<float> first{0.0F, 0.0F, 100.0F, 0.0F}, second{7.0F, 9.0F, 0.0F, 100.0F};
  const std::vector<UnreadableSample> unreadable{{.sample = 2, .reason = "damaged"}};
  predictions.add({.first = 0, .samples = 2, .values = first});
  predictions.add({.first = 2, .samples = 2, .values = second, .unreadable = unreadable});
  EXPECT_FALSE(std::filesystem::exists(folder / "out.csv")) << "only once it is whole";
  predictions.finish();
  // Correct with confidence 0.5, wrong with 1, correct with 1.
  EXPECT_DOUBLE_EQ(predictions.calibration_error().value_or(-1.0), (0.5 + 1.0) / 3.0);
  EXPECT_EQ(contents(folder / "out.csv"),
            "sample,class,predicted,probability\n"
            "\"photo, 0\",cat,cat,0.5\n"
            "\"photo, 1\",\"\"\"dog\"\"\",cat,1\n"
            "\"photo, 2\",cat,,\n"
            "\"photo, 3\",\"\"\"dog\"\"\",\"\"\"dog\"\"\",1\n");
}

TEST(SamplePredictions, NumbersHaveTheirUnitAndAllDigits) {
  const TemporaryFolder folder;
  test::Synthetic dataset(2, {1, 4, 4}, 4);
  dataset.set_task(Task::regression);  // mean 10, deviation 2
  SamplePredictions predictions(dataset, {"price"}, folder / "out.csv");
  const std::vector<float> outputs{0.75F + 0x1p-24F, 5.0F};
  const std::vector<UnreadableSample> unreadable{{.sample = 1, .reason = "damaged"}};
  predictions.add({.first = 0, .samples = 2, .values = outputs, .unreadable = unreadable});
  predictions.finish();
  EXPECT_EQ(predictions.calibration_error(), std::nullopt);
  EXPECT_EQ(contents(folder / "out.csv"),
            fmt::format("sample,target,predicted\nsample 0,{},11.50000011920929\nsample 1,{},\n",
                        10.0 + 2.0 * static_cast<double>(dataset.targets(0)[0]),
                        10.0 + 2.0 * static_cast<double>(dataset.targets(1)[0])));
}

}  // namespace
}  // namespace lockstep
