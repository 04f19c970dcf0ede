#include "core/text/nearest.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <vector>

namespace lockstep {
namespace {

const std::vector<std::string> known = {"lenet", "resnet18", "batch-size", "learning-rate", "lr"};

TEST(Nearest, FindsTheNameThatWasMeant) {
  EXPECT_EQ(nearest("lenett", known), "lenet");  // one letter too many
  EXPECT_EQ(nearest("lnet", known), "lenet");    // one letter missing
  EXPECT_EQ(nearest("lemet", known), "lenet");   // one letter replaced
  EXPECT_EQ(nearest("elnet", known), "lenet");   // neighbours swapped
  EXPECT_EQ(nearest("resnet-18", known), "resnet18");
  EXPECT_EQ(nearest("batchsize", known), "batch-size");
  EXPECT_EQ(nearest("rl", known), "lr");
  EXPECT_EQ(nearest("learning", known), "learning-rate");  // the only name that starts with it
}

TEST(Nearest, KnowsNamesOfOtherPrograms) {
  const std::vector<std::string> devices = {"auto", "cpu", "cuda"};
  EXPECT_EQ(nearest("gpu", devices), "cuda");
  const std::vector<std::string> without = {"auto", "cpu"};
  EXPECT_EQ(nearest("gpu", without), "cpu");  // only known names are suggested
  EXPECT_EQ(nearest("learning-rate", std::vector<std::string>{"lr", "lr-base-scale"}), "lr");
}

TEST(Nearest, IsEmptyWhenNothingIsNear) {
  EXPECT_EQ(nearest("transformer", known), "");
  EXPECT_EQ(nearest("x", known), "");
  EXPECT_EQ(nearest("", known), "");
  EXPECT_EQ(nearest("l", known), "");  // the beginning of three names
  EXPECT_EQ(nearest(std::string(100000, 'x'), known), "");
  EXPECT_EQ(nearest("lenet", {}), "");
  EXPECT_EQ(nearest("lenet", std::vector<std::string>{""}), "");
  // Half of the letters agree.
  const std::vector<std::string> options = {"reduce", "cutout", "crop-pct", "1.weight"};
  for (const char* name : {"resume", "output", "drop-path", "conv1.weight"}) {
    EXPECT_EQ(nearest(name, options), "") << name;
  }
}

/// An edit-distance table for these names would take 8 GiB of memory.
TEST(Nearest, NamesOfOtherLengthsAreNotCompared) {
  const std::vector<std::string> huge = {std::string(std::size_t{1} << 24, 'a')};
  EXPECT_EQ(nearest(std::string(64, 'b'), huge), "");
}

TEST(UnknownName, ComposesTheMessage) {
  const std::vector<std::string> models = {"lenet", "resnet18"};
  EXPECT_EQ(unknown_name("model", "lenett", models),
            "unknown model 'lenett'; did you mean 'lenet'? known: lenet, resnet18");
  EXPECT_EQ(unknown_name("model", "gpt", models), "unknown model 'gpt'; known: lenet, resnet18");
  const std::vector<std::string> twenty(20, "x");
  EXPECT_EQ(unknown_name("layer", "conv", twenty),
            "unknown layer 'conv'; known: x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x");
  const std::vector<std::string> many(122, "x");
  EXPECT_EQ(unknown_name("layer", "conv", many),
            "unknown layer 'conv'; known: x, x, x, x, x, x, x, x, x, x, x, x, ... (122 in all)");
  const std::string start = "x\n" + std::string(98, 'y'), shown = "x?" + std::string(98, 'y') + "...";
  const std::vector<std::string> one = {start + std::string(1000, 'y')};
  EXPECT_EQ(unknown_name("layer", start, one),
            fmt::format("unknown layer '{0}'; did you mean '{1}'? known: {1}", shown.substr(0, 100), shown));
  EXPECT_EQ(suggestion(start, one), fmt::format("; did you mean {}?", shown));
}

}  // namespace
}  // namespace lockstep
