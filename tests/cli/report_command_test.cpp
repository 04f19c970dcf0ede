#include <gtest/gtest.h>

#include <cstdio>

#include "cli/commands.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace lockstep {
namespace {

int report(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "report");
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  return run_report(static_cast<int>(pointers.size()), pointers.data());
}

constexpr const char* epoch =
    R"({"event":"epoch","epoch":1,"train_loss":0.5,"train_accuracy":0.75,"test_loss":0.25,"test_accuracy":0.875,)"
    R"("images_per_second":1000,"seconds":2})"
    "\n";

TEST(ReportCommand, WritesThePageAndPrintsTheEpochs) {
  const TemporaryFolder folder;
  folder.write("metrics.jsonl", std::string(epoch) + "{\"event\":\"end\",\"digest\":\"xxh3:01\"}\n");
  testing::internal::CaptureStdout();
  EXPECT_EQ(report({folder.path().string()}), 0);
  std::fflush(stdout);
  const std::string file = (folder.path() / "report.html").string();
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
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
  testing::internal::CaptureStdout();
  EXPECT_EQ(report({folder.path().string(), "--output", file.string()}), 0);
  EXPECT_NE(testing::internal::GetCapturedStdout().find("no end recorded"), std::string::npos);
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
  expect_error(Category::resource, {"/nonexistent/x.html"}, [&] {
    report({directory, "--output", "/nonexistent/x.html"});
  });
}

}  // namespace
}  // namespace lockstep
