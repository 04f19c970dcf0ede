#include "core/text/command_line.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

using Words = std::vector<std::string>;

TEST(ShellLine, QuotesWhereAShellNeedsIt) {
  EXPECT_EQ(shell_line({"train", "--run-dir", "runs/lenet-1"}), "train --run-dir runs/lenet-1");
  EXPECT_EQ(shell_line({"my runs/it's", "", "$HOME"}), "'my runs/it'\\''s' '' '$HOME'");
  EXPECT_EQ(shell_line({}), "");
}

TEST(ResumeCommand, ContinuesInTheRunDirectory) {
  const auto resume = [](const Words& words, bool has_checkpoint) {
    return resume_command(words, "/runs/1", has_checkpoint);
  };
  const Words on = {"train", "--lr", "1", "--run-dir", "/runs/1", "--resume", "/runs/1"};
  EXPECT_EQ(resume({"train", "--lr", "1"}, true), on);
  EXPECT_EQ(resume({"train", "--run-dir", "here", "--resume=old", "--lr", "1"}, true), on);
  const Words anew = {"train", "--lr", "1", "--run-dir", "/runs/1", "--resume", "auto"};
  EXPECT_EQ(resume({"train", "--lr", "1"}, false), anew);
  EXPECT_EQ(resume({"train", "--run-dir=x", "--lr", "1", "--resume", "auto"}, false), anew);
  const Words elsewhere = {"train", "--run-dir", "here", "--resume", "old"};
  EXPECT_EQ(resume(elsewhere, false), elsewhere);
  EXPECT_EQ(resume_command(elsewhere, "", true), elsewhere);
}

TEST(RestartAdvice, RepeatsTheOptionsOfTheStart) {
  const Words command = {"train", "--lr", "0.2", "--resume", "auto"};
  EXPECT_EQ(restart_advice("lockstep-run -np 4", command, "runs/lenet-1", false),
            "begin again with: lockstep-run -np 4 train --lr 0.2 --run-dir runs/lenet-1 --resume auto");
  EXPECT_EQ(restart_advice("lockstep-run -np 4", command, "runs/lenet-1", true),
            "resume with: lockstep-run -np 4 train --lr 0.2 --run-dir runs/lenet-1 --resume runs/lenet-1");
}

}  // namespace
}  // namespace lockstep
