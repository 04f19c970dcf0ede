// Runs in which one call of the file system fails, of all that a run makes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <regex>
#include <sstream>

#include "support/run.h"

namespace lockstep::test {
namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
  Lines lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// A run of four steps and two epochs, with a record and a model.
class FaultyRun {
 public:
  /// `fault`: variables of tests/support/fail_from_environment.cpp.
  explicit FaultyRun(int ranks, std::vector<std::string> fault = {}) {
    std::filesystem::create_directory(folder_ / "models");
    fault.push_back("FAILING_LOG=" + log_);
    outcome = mpirun(LOCKSTEP_FAILING, ranks,
                     {"train", "--dataset", "csv", "--data-dir", LOCKSTEP_SOURCE "/examples/data/two-moons",
                      "--model", "mlp", "--epochs", "2", "--max-steps", "4", "--batch-size", "32", "--quiet",
                      "--run-dir", run_directory(), "--save-model", model()},
                     fault);
    for (std::string& line : lines_of(contents(log_))) {
      if (line.starts_with("FAILED ")) {
        failed_before_training = failed_before_training || !training_;
        line = line.substr(line.find(' ') + 1);
        failed.push_back(line);
      }
      training_ = training_ || line == "fstat " + run_directory() + "/metrics.jsonl";
      calls.push_back(line);
    }
  }

  std::string run_directory() const { return (folder_ / "run").string(); }
  std::string model() const { return (folder_ / "models/lenet.safetensors").string(); }
  std::string digest() const { return line_after(outcome.out, "digest "); }

  Outcome outcome;
  Lines calls;   ///< "NAME PATH[ w]"
  Lines failed;  ///< those of them that failed
  bool failed_before_training = false;

 private:
  TemporaryFolder folder_;
  std::string log_ = (folder_ / "calls").string();
  bool training_ = false;
};

/// Whether a failure of the call loses nothing: of closing what was read or is not wanted, and of removing
/// what is not wanted.
bool loses_nothing(const std::string& call) {
  return call.starts_with("close ") || call.starts_with("unlink ");
}

/// File of a call on it, or on the temporary one beside it.
std::string file_of(const std::string& call) {
  static const std::regex parts("[^ ]+ (.*?)([.][0-9a-f]{8}[.]tmp)?( w)?");
  std::smatch match;
  return std::regex_match(call, match, parts) ? match[1].str() : "no call: " + call;
}

Lines starting(const Lines& lines, const std::string& start) {
  Lines found;
  std::ranges::copy_if(lines, std::back_inserter(found),
                       [&](const std::string& line) { return line.starts_with(start); });
  return found;
}

void expect_clear_end(const FaultyRun& run, const std::string& reason) {
  const Lines messages = lines_of(run.outcome.err);
  const Lines errors = starting(messages, "lockstep: error: "),
              warnings = starting(messages, "lockstep: warning: ");
  if (run.outcome.status == 0) {
    EXPECT_TRUE(loses_nothing(run.failed[0]));
    EXPECT_TRUE(errors.empty());
    return;
  }
  EXPECT_EQ(run.outcome.status, 4);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_TRUE(errors[0].ends_with(reason));
  EXPECT_NE(errors[0].find(file_of(run.failed[0]) + ": "), std::string::npos) << "does not name the file";
  EXPECT_EQ(warnings.empty(), run.failed_before_training);
}

/// After the begin of the training, a fault loses nothing but the file whose call failed.
void expect_results(const FaultyRun& run, const FaultyRun& whole) {
  EXPECT_EQ(run.digest(), whole.digest());
  const bool in_model = run.failed[0].find("/models") != std::string::npos;
  const bool lost = run.outcome.status != 0;
  EXPECT_TRUE((in_model && lost) || contents(run.model()) == contents(whole.model()));
  if (in_model || !lost) {
    const std::string metrics = contents(run.run_directory() + "/metrics.jsonl");
    EXPECT_NE(metrics.find("\"digest\":\"" + whole.digest()), std::string::npos) << metrics;
    EXPECT_NE(contents(run.run_directory() + "/report.html"), "");
    EXPECT_NE(contents(run.run_directory() + "/checkpoints/final.safetensors"), "");
  }
}

void expect_good_end(const FaultyRun& run, const FaultyRun& whole, const std::string& reason) {
  ASSERT_EQ(run.failed.size(), 1U);
  SCOPED_TRACE("fault in " + run.failed[0] + "\n" + run.outcome.err);
  expect_clear_end(run, reason);
  if (!run.failed_before_training) expect_results(run, whole);
}

void fail(std::size_t number, int reason, const FaultyRun& whole) {
  const FaultyRun run(0,
                      {"FAILING_CALL=" + std::to_string(number), "FAILING_ERRNO=" + std::to_string(reason)});
  // A slow run adds to its metrics more often, so that a fast one may make fewer calls.
  if (run.failed.empty() && number > run.calls.size()) return;
  expect_good_end(run, whole, std::generic_category().message(reason));
}

TEST(FileFaults, NoCallThatFailsLosesMoreThanItsFile) {
  const FaultyRun whole(0);
  ASSERT_EQ(whole.outcome.status, 0) << whole.outcome.err;
  ASSERT_GT(whole.calls.size(), 100U);
  for (std::size_t i = 0; i < whole.calls.size(); ++i) {
    fail(i + 1, whole.calls[i].ends_with(" w") ? ENOSPC : EIO, whole);
  }
}

TEST(LongFileFaults, NoCallThatFailsLosesMoreThanItsFile) {
  const FaultyRun whole(0);
  for (std::size_t i = 0; i < whole.calls.size(); ++i) {
    for (const int reason : {EIO, ENOSPC}) fail(i + 1, reason, whole);
  }
}

/// From one call on, nothing can be read or written any more.
TEST(FileFaults, ADiskThatDiesEndsTheRunWithOneErrorAndTheDigestOfWhatWasTrained) {
  const FaultyRun whole(0);
  for (std::size_t i = 0; i < whole.calls.size(); i += 7) {
    const FaultyRun run(0, {"FAILING_CALL=" + std::to_string(i + 1), "FAILING_LATER=1",
                            "FAILING_ERRNO=" + std::to_string(EIO)});
    SCOPED_TRACE("from " + whole.calls[i] + " on\n" + run.outcome.err);
    const bool failed = run.outcome.status != 0;
    EXPECT_EQ(run.outcome.status, failed ? 4 : 0);
    EXPECT_TRUE(failed || std::ranges::all_of(run.failed, loses_nothing));
    const Lines errors = starting(lines_of(run.outcome.err), "lockstep: error: ");
    ASSERT_EQ(errors.size(), failed ? 1U : 0U);
    EXPECT_TRUE(!failed || errors[0].ends_with("Input/output error"));
    EXPECT_EQ(run.outcome.out, run.failed_before_training ? "" : whole.outcome.out);
  }
}

/// The error of one rank ends all.
TEST(FileFaults, RanksAgreeOnTheFailureOfOne) {
  const FaultyRun whole(2, {"FAILING_RANK=1"});
  EXPECT_EQ(whole.outcome.status, 0) << whole.outcome.err;
  for (std::size_t i = 0; i < whole.calls.size(); ++i) {
    if (!whole.calls[i].starts_with("pread ")) continue;
    const FaultyRun run(2, {"FAILING_RANK=1", "FAILING_CALL=" + std::to_string(i + 1),
                            "FAILING_ERRNO=" + std::to_string(EIO)});
    SCOPED_TRACE(run.outcome.err);
    EXPECT_EQ(run.outcome.status, 4);
    EXPECT_EQ(count(run.outcome.err, "lockstep: error: rank 1 on "), 1);
    EXPECT_EQ(run.outcome.out, "");
  }
}

}  // namespace
}  // namespace lockstep::test
