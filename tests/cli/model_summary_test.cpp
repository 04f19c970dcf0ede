#include "cli/model/model_summary.h"

#include <gtest/gtest.h>

#include "lockstep/models.h"
#include "support/text.h"

namespace lockstep {
namespace {

void expect_line(const std::string& text, const std::string& line) {
  test::expect_holds("\n" + text, "\n" + line + "\n");
}

TEST(ModelSummary, LayersOfLenet) {
  const std::string table = text_of(summarize(*make_model("lenet", {1, 28, 28}, 10), 32));
  expect_line(table, "layer     operation            output   parameters     MFLOPs  fused into");
  expect_line(table, "conv1     conv2d 3x3         20x26x26          200      0.243");
  expect_line(table, "pool1     avg_pool2d 2x2     20x13x13                          conv1");
  expect_line(table, "fc2       linear                   10         1290      0.003");
  expect_line(
      table,
      "11 layers in 6 operations, 129068 parameters, 4.501 MFLOPs forward per image (a multiply-add is 2)");
}

TEST(ModelSummary, AdditionsAreFusedIntoBatchNorm) {
  const std::string table = text_of(summarize(*make_model("resnet18", {3, 224, 224}, 1000), 32));
  test::expect_holds(table, "conv2d 7x7 stride 2 padding 3");
  EXPECT_TRUE(test::line_after(table, "add1 ").ends_with("  layer1.0.bn2"));
}

TEST(ModelSummary, FusedLayersMayBeCalledAsTheirHost) {
  Network network({1, 8, 8});
  const Value norm = batch_norm2d(conv2d(network.input(), {.channels = 1}), {.name = "a"});
  network.output(linear(flatten(network.add(Add{}, {norm, network.input()}, "a")), 2));
  const std::string table = text_of(summarize(network, 32));
  expect_line(table, "a         add                 1x8x8                          a");
}

/// Compares half the number of operations with the multiply-adds that torchvision publishes for its weights,
/// in billions.
TEST(ModelSummary, OperationsAreThePublishedOnes) {
  const auto operations = [](const std::string& model) {
    const std::string table = text_of(summarize(*make_model(model, {3, 224, 224}, 1000), 32));
    const std::string words = " parameters, ";
    return std::stod(table.substr(table.rfind(words) + words.size())) / 2e3;
  };
  EXPECT_NEAR(operations("alexnet"), 0.714, 5e-4);
  EXPECT_NEAR(operations("mobilenet-v2"), 0.301, 5e-4);
  EXPECT_NEAR(operations("resnet18"), 1.814, 5e-4);
  EXPECT_NEAR(operations("resnet34"), 3.664, 5e-4);
  EXPECT_NEAR(operations("resnet50"), 4.089, 5e-4);
  EXPECT_NEAR(operations("vgg11"), 7.609, 5e-4);
  EXPECT_NEAR(operations("vgg16"), 15.47, 5e-3);
}

TEST(ModelSummary, MemoryOfSeveralSizes) {
  const auto network = make_model("lenet", {1, 28, 28}, 10);
  const std::string table = text_of(summarize(*network, 64));
  expect_line(table, "micro-batch      train  recompute   evaluate");
  for (const char* samples : {"\n         32 ", "\n         64 ", "\n        128 "}) {
    test::expect_holds(table, samples);
  }
  test::expect_holds(text_of(summarize(*network, 1)), "\n          1 ");
}

}  // namespace
}  // namespace lockstep
