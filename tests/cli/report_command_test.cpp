#include <gtest/gtest.h>

#include "cli/commands.h"
#include "cli/run_command.h"
#include "run/report/csv.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace lockstep {
namespace {

test::CommandOutcome report(const test::Words& arguments) {
  return test::run_command(report_command, arguments);
}

constexpr const char* epoch =
    R"({"event":"epoch","epoch":1,"train_loss":0.5,"train_accuracy":0.75,"test_loss":0.25,"test_accuracy":0.875,)"
    R"("images_per_second":1000,"seconds":2})"
    "\n";

TEST(ReportCommand, WritesThePageAndPrintsTheEpochs) {
  const TemporaryFolder folder;
  folder.write("metrics.jsonl", std::string(epoch) + "{\"event\":\"end\",\"digest\":\"xxh3:01\"}\n");
  const test::CommandOutcome outcome = report({folder.string()});
  EXPECT_EQ(outcome.status, 0);
  const std::string file = (folder.path() / "report.html").string();
  EXPECT_EQ(outcome.out,
            "epoch 1/1  train loss 0.5000  train acc 0.7500  test loss 0.2500  test acc 0.8750  2.00 s  1000 "
            "img/s\n"
            "digest xxh3:01\nwrote " +
                file + "\n");
  EXPECT_TRUE(std::filesystem::exists(file));
  folder.write("environment.json", R"({"samples":"row"})");
  test::expect_holds(report({folder.string()}).out, "  1000 rows/s\n");
}

TEST(ReportCommand, OutputAndUnfinishedRun) {
  const TemporaryFolder folder;
  folder.write("metrics.jsonl", "");
  const auto file = folder.path() / "page.html";
  test::expect_holds(report({folder.string(), "--output", file.string()}).out, "no end recorded");
  EXPECT_TRUE(std::filesystem::exists(file));
  const std::string page = folder / "report.html";
  EXPECT_FALSE(std::filesystem::exists(page));
  for (int i = 0; i < 2; ++i) report({folder.string(), "--output", page});
  EXPECT_TRUE(std::filesystem::exists(page));
}

TEST(ReportCommand, RunThatStoppedForAValueThatIsNotFinite) {
  const TemporaryFolder folder;
  const std::string stop =
      R"({"event":"not_finite","step":3,"epoch":1,"reason":"the loss is nan","samples":64,"handling":"stop"})"
      "\n";
  folder.write("metrics.jsonl", stop);
  test::expect_holds(report({folder.string()}).out,
                     "no end recorded: the run stopped at step 3, as the loss is not finite\n");
  test::expect_holds(contents(folder / "report.html"),
                     "No end was recorded: the run stopped at step 3, as the loss is not finite.");
  folder.write("metrics.jsonl", stop + epoch);
  test::expect_holds(report({folder.string()}).out, "no end recorded: the run is in progress");
}

TEST(ReportCommand, Csv) {
  const TemporaryFolder folder;
  folder.write(
      "metrics.jsonl",
      R"({"event":"step","epoch":1,"step":1,"samples":8,"loss":null,"learning_rate":0.1,"seconds":0.5})"
      "\n"
      R"({"event":"step","epoch":1,"step":2,"samples":8,"loss":0.333333333,"learning_rate":0.1,"gradient_norm":2,)"
      R"("seconds":1e-07})"
      "\n" +
          std::string(epoch));
  EXPECT_EQ(report({folder.string(), "--csv", "-"}).out,
            "epoch,train_loss,train_accuracy,test_loss,test_accuracy,train_left_out,test_left_out,"
            "images_per_second,seconds\n"
            "1,0.5,0.75,0.25,0.875,0,0,1000,2\n");
  EXPECT_EQ(report({folder.string(), "--csv", "-", "--csv-rows", "steps"}).out,
            "epoch,step,samples,loss,learning_rate,gradient_norm,seconds\n"
            "1,1,8,,0.1,,0.5\n1,2,8,0.333333333,0.1,2,1e-07\n");
  const std::string file = folder / "epochs.csv";
  test::expect_holds(report({folder.string(), "--csv", file}).out,
                     "no end recorded: the run is in progress, or was interrupted\nwrote " + file);
  EXPECT_TRUE(contents(file).starts_with("epoch,train_loss,"));
  EXPECT_FALSE(std::filesystem::exists(folder / "report.html"));
  expect_error(Category::usage, {"csv-rows", "has no effect without"}, [&] {
    report({folder.string(), "--csv-rows", "steps"});
  });
}

TEST(ReportCommand, CsvQuotesTexts) {
  EXPECT_EQ(csv(std::vector{DigestReport{.step = 1, .digest = "a,\"b\""}}),
            "step,digest\n1,\"a,\"\"b\"\"\"\n");
  EXPECT_EQ(csv(std::vector<StepReport>()), "epoch,step,samples,loss,learning_rate,seconds\n");
}

TEST(ReportCommand, Errors) {
  const TemporaryFolder folder;
  const std::string directory = folder.path().string();
  expect_error(Category::data, {directory, "No such file", "run directory"}, [&] { report({directory}); });
  folder.write("metrics.jsonl", "");
  const std::string missing = folder / "missing/x.html";
  expect_error(Category::resource, {missing}, [&] { report({directory, "--output", missing}); });
  expect_error(Category::usage, {"x.html is the file of --csv: name another file"}, [&] {
    report({directory, "--csv", folder / "x.html", "--output", folder / "./x.html"});
  });
  EXPECT_FALSE(std::filesystem::exists(folder / "x.html"));
}

}  // namespace
}  // namespace lockstep
