// Runs in which one of the file system calls fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <regex>
#include <set>

#include "run/checkpoint/checkpoint_store.h"
#include "support/run.h"

namespace lockstep::test {
namespace {

/// A run of four steps, with a record, two checkpoints and a model.
class FaultyRun {
 public:
  /// `fault`: variables of tests/support/fail_from_environment.cpp.
  explicit FaultyRun(int ranks, const Words& fault = {}) {
    std::filesystem::create_directory(folder_ / "models");
    outcome =
        mpirun(LOCKSTEP_FAILING, ranks,
               words("train --dataset csv --data-dir {} --recipe none --model mlp --epochs 2 --max-steps 4 "
                     "--batch-size 32 --quiet --checkpoint-every 2 --keep 1 --run-dir {} --save-model {}",
                     LOCKSTEP_SOURCE "/examples/data/two-moons", run_directory(), model()),
               fault + Words{"FAILING_LOG=" + log_});
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
  std::string best() const { return run_directory() + "/checkpoints/best.safetensors"; }
  std::string digest() const { return digest_of(outcome.out); }
  /// Lines "lockstep: KIND: ..." on stderr.
  Words lines_of_kind(const std::string& kind) const {
    Words lines = lines_of(outcome.err);
    std::erase_if(lines, [&](const auto& line) { return !line.starts_with("lockstep: " + kind + ": "); });
    return lines;
  }

  Outcome outcome;
  Words calls;   ///< "NAME PATH[ w]"
  Words failed;  ///< subset of `calls` that failed
  bool failed_before_training = false;

 private:
  TemporaryFolder folder_;
  std::string log_ = (folder_ / "calls").string();
  bool training_ = false;
};

/// The call with random names and step numbers masked and the folder removed. A quick test needs only one
/// call of each kind.
std::string kind_of(const std::string& call) {
  const std::string plain = std::regex_replace(call, std::regex("[0-9a-f]{8}"), "#");
  return std::regex_replace(plain, std::regex(" .*lockstep-test-[^/ ]*"), " ");
}

/// File that the call uses. For a temporary file, the final file's name.
std::string file_of(const std::string& call) {
  static const std::regex parts("[^ ]+ (.*?)([.][0-9a-f]{8}[.]tmp)?( w)?");
  std::smatch match;
  return std::regex_match(call, match, parts) ? match[1].str() : "no call: " + call;
}

/// Whether the error ends with the reason. Only a resume or restart command may follow it.
bool ends_with_reason(const std::string& error, const std::string& reason) {
  return error.ends_with(reason) || holds(error, reason + "; resume with: ") ||
         holds(error, reason + "; begin again with: ");
}

void expect_clear_end(const FaultyRun& run, const std::string& reason) {
  const Words errors = run.lines_of_kind("error"), warnings = run.lines_of_kind("warning");
  EXPECT_LE(warnings.size(), 1U);
  for (const std::string& warning : warnings) expect_holds(warning, reason);
  if (run.outcome.status == 0) {
    EXPECT_TRUE(errors.empty());
    return;
  }
  EXPECT_EQ(run.outcome.status, 4);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_TRUE(ends_with_reason(errors[0], reason));
  EXPECT_TRUE(holds(errors[0], file_of(run.failed[0]) + ": ")) << "does not name the file";
  EXPECT_EQ(warnings.empty(), run.failed_before_training);
}

/// Expects all results except the file whose call failed. For runs that ended with status 0 or failed after
/// training began. Without a warning, nothing may be missing.
void expect_results(const FaultyRun& run, const FaultyRun& whole) {
  EXPECT_EQ(run.digest(), whole.digest());
  const auto checkpoint =
      newest_good_checkpoint(run.run_directory() + "/checkpoints",
                             [](const auto&, const std::string& bad) { ADD_FAILURE() << bad; });
  ASSERT_TRUE(checkpoint);
  EXPECT_TRUE(checkpoint->state.step == 4 || !run.lines_of_kind("warning").empty());
  if (holds(run.failed[0], "/best.safetensors")) {  // the last epoch's best model is rewritten at the end
    EXPECT_EQ(run.outcome.status, 0);
  }
  const bool in_model = holds(run.failed[0], "/models");
  const bool lost = run.outcome.status != 0;
  EXPECT_TRUE((in_model && lost) || contents(run.model()) == contents(whole.model()));
  EXPECT_EQ(contents(run.best()), contents(whole.best()));
  if (in_model || !lost) {
    const std::string metrics = contents(run.run_directory() + "/metrics.jsonl");
    expect_holds(metrics, "\"digest\":\"" + whole.digest());
    EXPECT_NE(contents(run.run_directory() + "/report.html"), "");
    EXPECT_NE(contents(run.run_directory() + "/checkpoints/final.safetensors"), "");
  }
}

void fail(std::size_t number, int error, const FaultyRun& whole) {
  const FaultyRun run(0,
                      {"FAILING_CALL=" + std::to_string(number), "FAILING_ERRNO=" + std::to_string(error)});
  // A fast run appends to its metrics less often, so it may make fewer calls than `whole`.
  if (run.failed.empty() && number > run.calls.size()) return;
  ASSERT_EQ(run.failed.size(), 1U);
  SCOPED_TRACE("fault in " + run.failed[0] + "\n" + run.outcome.err);
  expect_clear_end(run, std::generic_category().message(error));
  if (run.outcome.status == 0 || !run.failed_before_training) expect_results(run, whole);
}

TEST(FileFaults, NoCallThatFailsLosesMoreThanItsFile) {
  const FaultyRun whole(0);
  ASSERT_EQ(whole.outcome.status, 0) << whole.outcome.err;
  ASSERT_GT(whole.calls.size(), 100U);
  std::set<std::string> kinds;
  for (std::size_t i = 0; i < whole.calls.size(); ++i) {
    if (!kinds.insert(kind_of(whole.calls[i])).second) continue;
    fail(i + 1, whole.calls[i].ends_with(" w") ? ENOSPC : EIO, whole);
  }
  EXPECT_GT(kinds.size(), 100U);
}

TEST(LongFileFaults, NoCallThatFailsLosesMoreThanItsFile) {
  const FaultyRun whole(0);
  for (std::size_t i = 0; i < whole.calls.size(); ++i) {
    for (const int reason : {EIO, ENOSPC}) fail(i + 1, reason, whole);
  }
}

/// From a chosen call on, every file system call fails.
TEST(FileFaults, ADiskThatDiesEndsTheRunWithOneErrorAndTheDigestOfWhatWasTrained) {
  const FaultyRun whole(0);
  for (std::size_t i = 0; i < whole.calls.size(); i += 15) {
    const FaultyRun run(0, {"FAILING_CALL=" + std::to_string(i + 1), "FAILING_LATER=1",
                            "FAILING_ERRNO=" + std::to_string(EIO)});
    SCOPED_TRACE("from " + whole.calls[i] + " on\n" + run.outcome.err);
    if (run.outcome.status == 0) {
      expect_results(run, whole);
      continue;
    }
    EXPECT_EQ(run.outcome.status, 4);
    const Words errors = run.lines_of_kind("error");
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_TRUE(ends_with_reason(errors[0], "Input/output error"));
    EXPECT_EQ(run.outcome.out, run.failed_before_training ? "" : whole.outcome.out);
  }
}

/// `lockstep train --resume auto` would take the empty folder for the newest run.
TEST(FileFaults, AFullDiskIsFoundBeforeARunFolderIsCreated) {
  const TemporaryFolder folder;
  for (const std::string more : {"", "--run-dir chosen"}) {
    const Outcome outcome = run(words("env -u LOCKSTEP_RUN_DIR -C {} {} train --dataset synthetic "
                                      "--synthetic-shape 1x8x8 --model mlp " +
                                          more,
                                      folder, LOCKSTEP_FAILING),
                                {"FAILING_SPACE=1000"});
    EXPECT_EQ(outcome.status, 4) << outcome.err;
    expect_holds(outcome.err, "no room for two checkpoints");
    EXPECT_TRUE(folder.names().empty());
  }
}

/// An error on one rank ends all ranks.
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
