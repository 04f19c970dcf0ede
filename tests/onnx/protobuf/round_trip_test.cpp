// Exports networks and imports them again: layers, parameter names and weights must stay the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "graph/operations.h"
#include "lockstep/models.h"
#include "onnx/described.h"
#include "onnx/export.h"
#include "onnx/import.h"
#include "onnx/protobuf/model_reader.h"
#include "onnx/random_model.h"
#include "support/expect_error.h"

namespace lockstep::test {
namespace {

struct RoundTrip {
  explicit RoundTrip(const Network& network, const OnnxExportOptions& options = {})
      : weights(random_model(network)),
        summary(export_onnx(folder / "m.onnx", network, weights, options)),
        imported(import_onnx(folder / "m.onnx", {})) {}

  void expect_same(const Network& network) const {
    EXPECT_EQ(described(*imported.network), described(network));
    ASSERT_EQ(imported.weights.size(), network.parameters().size());
    for (std::size_t i = 0; i < imported.weights.size(); ++i) {
      const Parameter &expected = network.parameters()[i], &found = imported.network->parameters()[i];
      EXPECT_EQ(found.name, expected.name);
      EXPECT_EQ(found.shape, expected.shape) << found.name;
      EXPECT_EQ(found.statistic_momentum, expected.statistic_momentum) << found.name;
      EXPECT_TRUE(std::ranges::equal(imported.weights[i], weights.floats(expected.name, expected.shape)))
          << expected.name;
    }
  }

  TemporaryFolder folder;
  ModelFile weights;
  OnnxExportSummary summary;
  OnnxImport imported;
};

/// Omits alexnet and vgg, which have many parameters.
TEST(RoundTrip, KeepsModels) {
  for (const char* const model :
       {"lenet", "mlp:20,30", "mobilenet-v2", "resnet18", "resnet18-d2l", "resnet20"}) {
    SCOPED_TRACE(model);
    const auto network = make_model(model, {3, 32, 32}, 7);
    RoundTrip(*network).expect_same(*network);
  }
}

/// Network of all operations with non-default options. Its adaptive pooling is global.
std::unique_ptr<Network> network_of_all_operations() {
  auto network = std::make_unique<Network>(Shape{3, 21, 22});
  Value x = conv2d(network->input(),
                   {.channels = 8, .kernel = 3, .stride = 2, .padding = 2, .dilation = 2, .groups = 1});
  x = relu6(batch_norm2d(x, {.eps = 0.002, .momentum = 0.3, .name = "norm"}));
  Value y =
      conv2d(x, {.channels = 8, .kernel = 3, .padding = 1, .groups = 8, .bias = false, .name = "block.0"});
  y = silu(group_norm(y, {.groups = 4, .eps = 0.01}));
  x = gelu(x + y);
  x = concat({x, y, x, relu(y)});
  x = max_pool2d(x, {.kernel = 3, .stride = 3, .ceil_mode = true});
  x = max_pool2d(x, {.kernel = 2, .stride = 1});
  x = avg_pool2d(x, {.kernel = 3, .stride = 1, .padding = 1, .count_include_pad = false});
  x = avg_pool2d(x, {.kernel = 2, .stride = 1, .padding = 1});
  x = group_norm(x, {.groups = 32, .name = "instance"});
  x = dropout(flatten(adaptive_avg_pool2d(x)), 0.25);
  x = group_norm(linear(x, {.features = 6, .bias = false}), {.groups = 2});
  network->output(linear(relu(x), 3));
  return network;
}

TEST(RoundTrip, KeepsEveryOperation) {
  const auto network = network_of_all_operations();
  std::set<std::string> names;
  for (const Network::Layer& layer : network->layers()) names.insert(name_of(layer.operation));
  for (const Operation& operation : operations_of_files()) EXPECT_TRUE(names.contains(name_of(operation)));
  RoundTrip(*network).expect_same(*network);
}

/// Pooling with windows of unequal sizes is exported as matrix products; with equal windows that are not
/// square, as ordinary pooling.
TEST(RoundTrip, KeepsAdaptivePooling) {
  for (const auto& [input, size] :
       {std::pair(Shape{3, 14, 14}, 4), std::pair(Shape{3, 15, 14}, 4), std::pair(Shape{2, 8, 16}, 4),
        std::pair(Shape{5, 2, 2}, 7), std::pair(Shape{4, 1, 1}, 3), std::pair(Shape{1, 9, 20}, 10)}) {
    SCOPED_TRACE(size);
    Network network(input);
    network.output(linear(flatten(adaptive_avg_pool2d(relu(network.input()), size)), 2));
    RoundTrip(network).expect_same(network);
  }
}

TEST(RoundTrip, RefusesPreprocessing) {
  const auto network = make_model("mlp:4", {1, 4, 4}, 3);
  for (const OnnxPreprocessing& preprocessing :
       {OnnxPreprocessing{}, OnnxPreprocessing{.pixels = false, .mean = {0.5}},
        OnnxPreprocessing{.pixels = false, .deviation = {0.5}}}) {
    expect_error(Category::data, {"m.onnx: includes the preprocessing of samples", "without --with-pre"},
                 [&] { const RoundTrip trip(*network, {.preprocessing = preprocessing}); });
  }
}

/// A table's samples are vectors already: flattening them has no effect.
TEST(RoundTrip, KeepsTables) {
  Network network({5, 1, 1});
  network.output(linear(relu(linear(network.input(), 8)), 3));
  const RoundTrip trip(network);
  trip.expect_same(network);
  EXPECT_EQ(trip.imported.network->input_shape(), (Shape{5, 1, 1}));
}

TEST(RoundTrip, KeepsMetadata) {
  const std::map<std::string, std::string> metadata{{"classes", R"(["a","b","c"])"}, {"mean", "[0.5]"}};
  const auto network = make_model("mlp:4", {1, 4, 4}, 3);
  EXPECT_EQ(RoundTrip(*network, {.metadata = metadata}).imported.metadata, metadata);
}

TEST(RoundTrip, FoldsBatchNorm) {
  const auto network = make_model("resnet20", {3, 32, 32}, 7);
  const RoundTrip trip(*network, {.fold_batch_norm = true});
  EXPECT_EQ(trip.summary.folded_batch_norms, 21);
  EXPECT_EQ(trip.summary.batch_norms, 0);
  for (const std::string& layer : described(*trip.imported.network)) {
    EXPECT_EQ(layer.find("batch_norm"), std::string::npos) << layer;
  }
  EXPECT_EQ(RoundTrip(*network).summary.batch_norms, 21);
}

TEST(RoundTrip, KeepsBatchNormThatIsNotAfterALayerOfItsOwn) {
  Network network({2, 4, 4});
  const Value x = conv2d(network.input(), {.channels = 3});
  const Value y = batch_norm2d(x) + x;  // the convolution has another reader
  network.output(flatten(batch_norm2d(y)));
  const RoundTrip trip(network, {.fold_batch_norm = true});
  EXPECT_EQ(trip.summary.folded_batch_norms, 0);
  EXPECT_EQ(trip.summary.batch_norms, 2);
  trip.expect_same(network);
}

TEST(RoundTrip, LeavesOutSoftmax) {
  const auto network = make_model("lenet", {1, 28, 28}, 3);
  const RoundTrip trip(*network, {.softmax = true});
  trip.expect_same(*network);
  ASSERT_FALSE(trip.imported.notes.empty());
  EXPECT_EQ(trip.imported.notes[0], "Softmax at the end is left out: the network gives logits");
}

TEST(RoundTrip, NamesThatAreTakenAreNumbered) {
  Network network({3, 4, 4});
  Value x = network.add(Activation{}, {network.input()}, "logits");
  x = network.add(Activation{}, {x}, "logits");
  x = network.add(Activation{}, {x}, "input");
  network.output(linear(flatten(x), {.features = 2, .name = "relu"}));
  const RoundTrip trip(network);
  trip.expect_same(network);
  EXPECT_EQ(read_onnx_model(trip.folder / "m.onnx").graph().output(0).name(), "logits");
}

/// With one channel, weights have the shape of a single number.
TEST(RoundTrip, KeepsGroupNormOfOneChannel) {
  Network network({1, 6, 6});
  const Value x = flatten(group_norm(network.input(), {.groups = 1, .name = "images"}));
  network.output(linear(group_norm(linear(x, 1), {.groups = 1, .name = "vectors"}), 2));
  RoundTrip(network).expect_same(network);
}

/// ONNX stores these options as floats, and 1 - momentum in place of the momentum.
TEST(RoundTrip, KeepsOptionsOfNormalization) {
  for (const auto& [eps, momentum] : {std::pair(1e-5, 0.1), std::pair(1.2345678e-5, 0.123456),
                                      std::pair(0.002, 1e-7), std::pair(1.0, 1.0)}) {
    Network network({2, 4, 4});
    const Value x = batch_norm2d(network.input(), {.eps = eps, .momentum = momentum});
    network.output(linear(flatten(group_norm(x, {.groups = 1, .eps = eps})), 2));
    RoundTrip(network).expect_same(network);
  }
}

/// Averages include padding, but not the pixels beyond it that the last window of ceil_mode covers.
TEST(RoundTrip, KeepsAveragesWithPaddingAndCeilMode) {
  for (const Shape& input : {Shape{2, 6, 7}, Shape{2, 7, 6}, Shape{1, 8, 8}}) {
    Network network(input);
    const Value x = avg_pool2d(network.input(), {.kernel = 3, .stride = 2, .padding = 1, .ceil_mode = true});
    network.output(linear(flatten(x), 2));
    RoundTrip(network).expect_same(network);
  }
}

/// Network with batch norm and convolution of vectors, and with layers whose outputs nothing reads.
TEST(RoundTrip, KeepsUnusualNetworks) {
  Network network({3, 4, 4});
  relu(network.input());
  Value x = batch_norm2d(flatten(network.input()));
  x = linear(x, 5);
  x = dropout(batch_norm2d(x), 0.5);
  network.output(concat({x, x, linear(x, 2)}));
  const RoundTrip trip(network);
  EXPECT_EQ(trip.imported.network->classes(), 12);
  EXPECT_EQ(trip.imported.weights.size(), network.parameters().size());
}

TEST(Export, RefusesPreprocessingThatDoesNotFit) {
  const auto network = make_model("lenet", {1, 28, 28}, 3);
  const ModelFile weights = random_model(*network);
  const TemporaryFolder folder;
  expect_error(Category::usage, {"std: 2 numbers do not fit 1 channel: "}, [&] {
    export_onnx(folder / "m.onnx", *network, weights,
                {.preprocessing = OnnxPreprocessing{.mean = {0.5}, .deviation = {1, 2}}});
  });
  EXPECT_FALSE(std::filesystem::exists(folder / "m.onnx"));
}

}  // namespace
}  // namespace lockstep::test
