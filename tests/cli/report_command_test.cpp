#include <gtest/gtest.h>

#include "cli/commands.h"
#include "cli/run_command.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace lockstep {
namespace {

test::CommandOutcome report(const test::Words& arguments) {
  test::CommandOutcome outcome = test::run_command(run_report, "report", arguments);
  if (outcome.error) throw Error(*outcome.error);
  return outcome;
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
}

TEST(ReportCommand, OutputAndUnfinishedRun) {
  const TemporaryFolder folder;
  folder.write("metrics.jsonl", "");
  const auto file = folder.path() / "page.html";
  test::expect_holds(report({folder.string(), "--output", file.string()}).out, "no end recorded");
  EXPECT_TRUE(std::filesystem::exists(file));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "report.html"));
}

TEST(ReportCommand, Errors) {
  const TemporaryFolder folder;
  const std::string directory = folder.path().string();
  expect_error(Category::usage, {"RUN_DIR is missing"}, [] { report({}); });
  expect_error(Category::usage, {"'--outptu'", "did you mean --output?"}, [] { report({"--outptu", "x"}); });
  expect_error(Category::data, {directory, "No such file", "run directory"}, [&] { report({directory}); });
  folder.write("metrics.jsonl", "");
  const std::string missing = folder / "missing/x.html";
  expect_error(Category::resource, {missing}, [&] { report({directory, "--output", missing}); });
}

}  // namespace
}  // namespace lockstep
