#include "train/session/parameter_set.h"

#include <gtest/gtest.h>

#include <numeric>

#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace lockstep {
namespace {

/// Convolution, batch norm and a linear layer for `classes` classes, with an arena of values 1, 2, 3, ...
struct Example {
  explicit Example(int classes) : network({1, 2, 2}) {
    Value x = conv2d(network.input(), {.channels = 2, .bias = false, .name = "conv"});
    x = relu(batch_norm2d(x, {.name = "bn"}));
    network.output(linear(flatten(x), {.features = classes, .name = "fc"}));
    layout = layout_arena(network.parameters());
    arena.resize(layout.elements);
    for (std::size_t i = 0; i < network.parameters().size(); ++i) {
      const auto values = set().values(i);
      std::iota(values.begin(), values.end(), static_cast<float>(10 * i + 1));
    }
  }
  ParameterSet set() { return {network, layout, arena}; }
  std::vector<float> values(std::size_t i) {
    const auto span = set().values(i);
    return {span.begin(), span.end()};
  }

  Network network;
  ArenaLayout layout;
  std::vector<float> arena;
};
constexpr std::size_t conv = 0;
constexpr std::size_t running_mean = 3;
constexpr std::size_t fc_weight = 5;
constexpr std::size_t fc_bias = 6;

const std::vector<float> numbers(64, 7.0F);
const std::vector<std::int64_t> count = {1234};

NamedTensor tensor(const std::string& name, std::vector<std::int64_t> shape) {
  const auto size = static_cast<std::size_t>(
      std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>()));
  return {name, std::move(shape), std::span(numbers).first(size)};
}

/// Tensors as PyTorch saves them for Example(3), ordered differently than in the network.
std::vector<NamedTensor> state_dict() {
  return {tensor("fc.bias", {3}),
          tensor("fc.weight", {3, 8}),
          tensor("conv.weight", {2, 1, 1, 1}),
          tensor("bn.running_var", {2}),
          tensor("bn.weight", {2}),
          tensor("bn.bias", {2}),
          tensor("bn.running_mean", {2}),
          {"bn.num_batches_tracked", {}, count}};
}

class Load : public ::testing::Test {
 protected:
  ModelFile file_of(const std::vector<NamedTensor>& tensors) {
    write_model_file(folder_.path() / "m", tensors, {});
    return ModelFile::read(folder_.path() / "m");
  }
  std::vector<NamedTensor> without(const std::string& name) {
    auto tensors = state_dict();
    std::erase_if(tensors, [&](const NamedTensor& tensor) { return tensor.name == name; });
    return tensors;
  }
  void expect_refused(Example example, const std::vector<NamedTensor>& tensors,
                      const std::vector<std::string>& message, const LoadOptions& options = {}) {
    const std::vector<float> before = example.arena;
    expect_error(Category::data, message, [&] { example.set().load(file_of(tensors), options); });
    EXPECT_EQ(example.arena, before);
  }

  TemporaryFolder folder_;
};

TEST_F(Load, TakesAStateDictWithRunningStatisticsAndBatchCounts) {
  for (const bool reset_head : {false, true}) {  // a head that fits is loaded
    Example example(3);
    example.set().load(file_of(state_dict()), {.reset_head = reset_head});
    for (std::size_t i = 0; i < example.network.parameters().size(); ++i) {
      EXPECT_EQ(example.values(i), std::vector<float>(example.values(i).size(), 7.0F)) << i;
    }
    example.set().load(file_of(without("bn.num_batches_tracked")));
  }
}

TEST_F(Load, OtherNamesAndShapesAreErrors) {
  auto foreign = state_dict();
  foreign.push_back({"conv.num_batches_tracked", {}, count});
  expect_refused(Example(3), foreign, {"unknown parameter 'conv.num_batches_tracked'"});
  expect_refused(Example(3), without("bn.running_mean"), {"no tensor 'bn.running_mean'"});
  auto wide = without("conv.weight");
  wide.push_back(tensor("conv.weight", {3, 1, 1, 1}));
  expect_refused(Example(3), wide, {"tensor 'conv.weight' is F32 [3, 1, 1, 1], F32 [2, 1, 1, 1] is needed"});
  expect_refused(Example(3), wide, {"tensor 'conv.weight' is F32 [3"}, {.reset_head = true});
}

TEST_F(Load, HeadOfOtherClassesNeedsReset) {
  const std::string advice = "; --reset-head reinitialises its layer";
  expect_refused(Example(5), state_dict(),
                 {"tensor 'fc.weight' is F32 [3, 8], F32 [5, 8] is needed" + advice});
  expect_refused(Example(3), without("fc.bias"), {"no tensor 'fc.bias'" + advice});
}

TEST_F(Load, ResetHeadKeepsTheWholeLastLayer) {
  for (const bool absent : {false, true}) {
    Example example(absent ? 3 : 5);
    const auto weight = example.values(fc_weight);
    const auto bias = example.values(fc_bias);
    example.set().load(file_of(absent ? without("fc.bias") : state_dict()), {.reset_head = true});
    EXPECT_EQ(example.values(fc_weight), weight);
    EXPECT_EQ(example.values(fc_bias), bias);
    EXPECT_EQ(example.values(conv), (std::vector<float>{7.0F, 7.0F}));
    EXPECT_EQ(example.values(running_mean), (std::vector<float>{7.0F, 7.0F}));
  }
}

TEST_F(Load, SavedFileHoldsAllThatPyTorchWants) {
  Example example(3);
  const std::string digest = example.set().digest();
  const std::string path = (folder_.path() / "saved").string();
  example.set().save(path);
  const ModelFile file = ModelFile::read(path);
  std::vector<std::string> names;
  for (const TensorInfo& info : file.tensors()) {
    names.push_back(info.name);
  }
  // The integer tensor comes first, so that all data are aligned to their element size.
  EXPECT_EQ(names, (std::vector<std::string>{"bn.num_batches_tracked", "conv.weight", "bn.weight", "bn.bias",
                                             "bn.running_mean", "bn.running_var", "fc.weight", "fc.bias"}));
  EXPECT_EQ(file.tensors()[0].dtype, "I64");
  EXPECT_EQ(file.tensors()[0].shape, std::vector<std::int64_t>{});
  std::fill(example.arena.begin(), example.arena.end(), 0.0F);
  example.set().load(file);
  EXPECT_EQ(example.set().digest(), digest);
}

}  // namespace
}  // namespace lockstep
