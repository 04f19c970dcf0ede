#include <gtest/gtest.h>

#include <utility>

#include "cli/commands.h"
#include "cli/run_command.h"
#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace lockstep {
namespace {

test::CommandOutcome diff(const test::Words& runs) { return test::run_command(diff_command, runs); }

std::string step_line(int step, const char* loss) {
  return "{\"event\":\"step\",\"epoch\":1,\"step\":" + std::to_string(step) +
         ",\"samples\":256,\"loss\":" + loss + ",\"learning_rate\":0.1,\"seconds\":1}\n";
}

class DiffCommand : public testing::Test {
 protected:
  DiffCommand() {
    record(a_, step_line(1, "2.5") + step_line(2, "2.25"), "lr = 0.1\nthreads = 1\n", "{\"ranks\":1}");
    record(b_, step_line(1, "2.5") + step_line(2, "2.25"), "lr = 0.1\nthreads = 2\n", "{\"ranks\":2}");
  }
  static void record(const TemporaryFolder& run, const std::string& metrics, const std::string& options,
                     const std::string& environment) {
    run.write("metrics.jsonl", metrics);
    run.write("options.cfg", options);
    run.write("environment.json", environment);
  }

  const TemporaryFolder a_, b_;
};

TEST_F(DiffCommand, SameResults) {
  const test::CommandOutcome outcome = diff({a_.string(), b_.string()});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out, "A: " + a_.string() + ": steps: 2, epochs: 0, no end recorded\nB: " + b_.string() +
                             ": steps: 2, epochs: 0, no end recorded\n"
                             "in both: steps: 2, epochs: 0, digests: 0\n"
                             "option threads: 1 in A, 2 in B (may differ between equal runs)\n"
                             "environment: ranks: 1 in A, 2 in B\n"
                             "the results that both have are the same; A and B have no end\n");
  const std::string end = "{\"event\":\"end\",\"digest\":\"xxh3:1\"}\n";
  a_.write("metrics.jsonl", step_line(1, "2.5") + end);
  EXPECT_TRUE(diff({a_.string(), b_.string()}).out.ends_with("are the same; B has no end\n"));
  b_.write("metrics.jsonl", step_line(1, "2.5") + end);
  EXPECT_TRUE(diff({a_.string(), b_.string()}).out.ends_with("\nthe results are the same\n"));
}

TEST_F(DiffCommand, OtherResults) {
  record(b_, step_line(1, "2.5") + step_line(2, "2.26"), "lr = 0.2\ndata-dir = /x\nnew-option = 3\n", "");
  const test::CommandOutcome outcome = diff({a_.string(), b_.string()});
  EXPECT_EQ(outcome.status, 1);
  for (const char* line :
       {"first difference in loss: step 2: 2.25 in A, 2.26 in B\n", "option lr: 0.1 in A, 0.2 in B\n",
        "option data-dir: none in A, /x in B (may differ between equal runs)\n",
        "option new-option: none in A, 3 in B\n", "environment: ranks: 1 in A, none in B\n",
        "the results differ\n"}) {
    test::expect_holds(outcome.out, line);
  }
}

TEST_F(DiffCommand, CheckpointsAffectRunsThatReturnToThem) {
  for (const auto& [on_nan, remark] :
       {std::pair("skip", " (may differ between equal runs)\n"), std::pair("rollback", "\n")}) {
    const std::string options = std::string("on-nan = ") + on_nan + "\ncheckpoint-every = ";
    record(a_, step_line(1, "2.5"), options + "3\n", "{}");
    record(b_, step_line(1, "2.5"), options + "7\n", "{}");
    test::expect_holds(diff({a_.string(), b_.string()}).out,
                       std::string("option checkpoint-every: 3 in A, 7 in B") + remark);
  }
}

TEST_F(DiffCommand, MissingFiles) {
  std::filesystem::remove(b_.path() / "options.cfg");
  std::filesystem::remove(a_.path() / "environment.json");
  const std::string out = diff({a_.string(), b_.string()}).out;
  test::expect_holds(out, "digests: 0\n" + (a_ / "environment.json").string() + " is missing\n" +
                              (b_ / "options.cfg").string() +
                              " is missing\nthe results that both have are the same");
}

TEST_F(DiffCommand, Errors) {
  b_.write("metrics.jsonl", step_line(3, "2.0"));
  expect_error(Category::data, {"no step, epoch or digest in common"}, [&] {
    diff({a_.string(), b_.string()});
  });
  for (const auto& [line, reason] :
       {std::pair("", "not valid JSON"), std::pair(R"({"event":"step","epoch":1,"st)", "not valid JSON"),
        std::pair("[1]", "'event' is missing"),
        std::pair(R"({"event":"step","epoch":1})", "'step' is missing"),
        std::pair(R"({"event":"step","step":"1"})", "a value has the wrong type or is too large"),
        std::pair(R"({"event":1e999})", "a value has the wrong type or is too large")}) {
    b_.write("metrics.jsonl", step_line(1, "2.5") + line + "\n");
    const std::string message =
        (b_ / "metrics.jsonl").string() + ": line 2: " + reason + "; remove this line to read the others";
    expect_exact_error(Category::data, message, [&] { diff({a_.string(), b_.string()}); });
  }
}

}  // namespace
}  // namespace lockstep
