// Runs that roll back to a checkpoint because one training image makes losses infinite.
#include <gtest/gtest.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <string>

#include "support/image_files.h"
#include "support/run.h"

namespace lockstep::test {
namespace {

using Json = nlohmann::json;

/// 96 training images of two classes: six steps per epoch. The blue channel, which is divided by almost zero,
/// is black in all images but one.
class NotFiniteRuns : public testing::Test {
 protected:
  NotFiniteRuns() {
    for (const std::string part : {"train", "val"}) {
      for (int i = 0; i < (part == "train" ? 96 : 16); ++i) {
        Image image = test_image(12, 12, static_cast<std::uint32_t>(i));
        const bool poisoned = part == "train" && i == 7;
        for (std::size_t k = 2; k < image.pixels.size(); k += 3) image.pixels[k] = poisoned ? 255 : 0;
        data_.write(part + (i % 2 == 0 ? "/even/" : "/odd/") + std::to_string(i) + ".png",
                    as_text(encode_png(image.pixels, 12, 12, PNG_FORMAT_RGB)));
      }
    }
  }
  /// Command that trains in the run directory `run`.
  Words command(const std::string& run, int epochs, const std::string& more) const {
    return words(
        "train --dataset images --data-dir {} --recipe none --image-size 12 --model {} --mean 0.3,0.3,0 "
        "--std 0.4,0.4,2e-38 --batch-size 16 --micro-batches 2 --epochs {} --threads 1 --device cpu "
        "--on-nan rollback --run-dir {} " +
            more,
        data_, LOCKSTEP_SOURCE "/tests/program/networks/residual_dropout.json", epochs, runs_ / run);
  }
  TemporaryFolder data_, runs_;
};

/// Rank 1 waits while rank 0 writes a file for longer than the hang limit.
TEST_F(NotFiniteRuns, SlowFilesOfTheRecordAreNoHang) {
  for (const std::string file : {"not-finite-step-", "metrics.jsonl"}) {
    const std::string run = "slow" + std::to_string(file.size()), log = (runs_ / (run + ".log")).string();
    const Outcome outcome =
        mpirun(LOCKSTEP_FAILING, 2, command(run, 2, "--hang-limit 1s --checkpoint-every 2"),
               {"SLOW_FILE=" + file, "FAILING_LOG=" + log, "FAILING_RANK=0"});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_TRUE(holds(contents(log), file)) << "nothing was slow";
  }
}

/// The second epoch is the best, but its checkpoint cannot be written, so the run rolls back from the third
/// epoch to the end of the first.
TEST_F(NotFiniteRuns, AReturnToBeforeTheBestEpochRestoresTheModelThatWasBestThere) {
  const Outcome outcome =
      mpirun(LOCKSTEP_FAILING, 0, command("run", 3, "--checkpoint-every never --seed 2 --max-steps 16"),
             {"FAILING_FILE=step-00000012", "FAILING_ERRNO=" + std::to_string(EIO)});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  expect_holds(outcome.out, "test acc 0.5625");
  expect_holds(outcome.err, "step 16: the loss is nan: back to the checkpoint of step 6");
  expect_holds(outcome.err, "best epoch 1: test accuracy 0.5000");
  const Outcome model = lockstep(0, words("inspect {}", runs_ / "run/checkpoints/best.safetensors"));
  expect_holds(model.out, "epoch 1, test_accuracy 0.5,");
}

TEST_F(NotFiniteRuns, GoBackToACheckpointWithTheSameBitsOnOtherRanksAfterARestart) {
  const Outcome whole = lockstep(0, command("whole", 2, "--checkpoint-every 2"));
  ASSERT_EQ(whole.status, 0) << whole.err;
  std::vector<std::uint64_t> steps;
  for (const std::string& line : record_of(runs_ / "whole")) {
    const Json event = Json::parse(line);
    if (event["event"] != "not_finite") continue;
    const auto step = event["step"].get<std::uint64_t>();
    const std::uint64_t back_to = (step - 1) / 2 * 2;
    steps.push_back(step);
    EXPECT_EQ(event["handling"], "rollback");
    EXPECT_EQ(event["back_to_step"], back_to);
    const std::string back = ": back to the checkpoint of step " + std::to_string(back_to) +
                             "; the run continues with step " + std::to_string(step + 1) +
                             "; its 16 samples: ";
    const std::string file = line_after(whole.err.substr(whole.err.find(back) + 1), back.substr(1));
    bool is_named = false;
    const Json samples = Json::parse(contents(file))["samples"];
    for (const Json& sample : samples) {
      is_named = is_named || sample["name"].get<std::string>().ends_with("train/odd/7.png");
    }
    EXPECT_TRUE(is_named) << file;
  }
  ASSERT_EQ(steps.size(), 2U) << "once in each epoch";

  const Outcome part =
      lockstep(2, command("part", 2, "--checkpoint-every 2 --max-steps " + std::to_string(steps[0] + 1)));
  ASSERT_EQ(part.status, 0) << part.err;
  const Outcome rest = lockstep(0, words("train --resume {} --run-dir auto --max-steps 0", runs_ / "part"));
  EXPECT_EQ(rest.status, 0) << rest.err;
  EXPECT_EQ(digest_of(rest.out), digest_of(whole.out));
  EXPECT_EQ(record_of(runs_ / "part"), record_of(runs_ / "whole"));
}

}  // namespace
}  // namespace lockstep::test
