// Recipes chosen automatically for users' own data: README's commands, given only the data, learn.
#include <gtest/gtest.h>

#include "support/photographs.h"
#include "support/run.h"

namespace lockstep::test {
namespace {

/// Test accuracy of the last epoch.
double accuracy_of(const Outcome& outcome) {
  const std::string accuracy = after_last(outcome.out, "test acc ");
  return accuracy.empty() ? 0.0 : std::stod(accuracy);
}

TEST(RecipeRuns, ATable) {
  const TemporaryFolder folder;
  const Words command =
      words("train --dataset csv --data-dir {}/examples/data/iris --test-fraction 0.2 --label-column species",
            LOCKSTEP_SOURCE);
  const std::string run = (folder / "run").string();
  const Outcome outcome = lockstep(0, command + words("--run-dir {}", run));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_GE(accuracy_of(outcome), 0.93);
  expect_holds(outcome.err, "recipe table: model mlp, epochs 60, batch-size 32, optimizer adamw, ");
  const Outcome again = lockstep(2, words("train --config {}/options.cfg --run-dir none", run));
  EXPECT_EQ(digest_of(again.out), digest_of(outcome.out)) << again.err;
  EXPECT_FALSE(holds(again.err, "recipe")) << again.err;
  for (const int seed : {1, 2}) {
    EXPECT_GE(accuracy_of(lockstep(0, command + words("--run-dir none --seed {}", seed))), 0.93) << seed;
  }
}

TEST(RecipeRuns, Photographs) {
  const TemporaryFolder folder;
  write_photographs(folder, "photos");
  const Outcome outcome = lockstep(0, words("train --dataset images --data-dir {}/photos --test-fraction 0.2 "
                                            "--image-size 64 --epochs 16 --run-dir none",
                                            folder));
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_GE(accuracy_of(outcome), 0.9);
  expect_holds(outcome.err, "recipe photos: model resnet18, image-size ");
  expect_holds(outcome.err, "2 of ");
}

}  // namespace
}  // namespace lockstep::test
