// Launches of one step on a GPU. Each costs microseconds, however small it is.
#include "train/cuda/launches.h"

#include <gtest/gtest.h>

#include <map>

#include "train/evaluator.h"

namespace lockstep {
namespace {

using test::launches_of;
using test::Recordings;
using test::short_name;
using test::StepOptions;
using test::Synthetic;
using test::world;

std::map<std::string, int> counts_of(const std::vector<std::string>& launches) {
  std::map<std::string, int> counts;
  for (const std::string& launch : launches) ++counts[launch];
  return counts;
}

using Launches = std::vector<std::string>;

/// The parts of a step, each in its order.
Launches lenet_step() {
  const Launches parts[] = {
      // prepare: weights as the library wants them
      {"PadWeights"},
      // gather
      {"ChooseSamples", "GatherImages"},
      // forward: two convolutions with pooling, two linear layers
      {"conv_forward", "AveragePool", "conv_forward", "AveragePool"},
      {"conv_forward", "conv_forward"},
      // loss
      {"WholeSamples"},
      // backward
      {"SumPacks ReadPack", "conv_backward_data", "conv_backward_weights"},
      {"SumPacks UndoRelu", "conv_backward_data", "conv_backward_weights"},
      {"SumPacks UndoAveragePool", "conv_backward_data", "conv_backward_weights"},
      {"SumPacks UndoAveragePool", "conv_backward_weights"},
      {"FinishGradients"},
      // reduce and update
      {"ConcludeLeaves", "Update Sgd"},
  };
  Launches all;
  for (const Launches& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

TEST(Launches, OfALeNetStep) { EXPECT_EQ(launches_of({.model = "lenet", .batch = 256}), lenet_step()); }

TEST(Launches, OfALeNetStepAreTheSameInBfloat16) {
  EXPECT_EQ(launches_of({.model = "lenet", .batch = 256, .dtype = DataType::bf16}), lenet_step());
}

TEST(Launches, OfAResNetStep) {
  const std::map<std::string, int> expected = {
      // prepare and gather
      {"PadWeights", 1},
      {"ChooseSamples", 1},
      {"GatherImages", 1},
      // forward and loss
      {"conv_forward", 21},
      {"MeasureChunks", 17},  // batch norms
      {"NormalizeChunk", 17},
      {"AvgForward", 1},
      {"WholeSamples", 1},
      // backward
      {"conv_backward_data", 20},
      {"conv_backward_weights", 21},
      {"SumPacks ReadPack", 4},  // biases, except those before batch norms
      {"SumGradients", 17},      // batch norms
      {"DifferentiateChunk", 17},
      {"AvgBackward", 1},
      {"FinishGradients", 5},  // one for each bucket
      // reduce and update
      {"ConcludeLeaves", 1},
      {"Update Sgd", 1},
  };
  EXPECT_EQ(counts_of(launches_of({.model = "resnet18-d2l", .batch = 64})), expected);
}

TEST(Launches, OfAnEvaluationAreInGraphsOfLimitedLength) {
  constexpr std::uint32_t samples = 2 * 205 - 1;
  const Synthetic set(samples, {1, 12, 12}, 10);
  const auto network = make_model("mlp:12", set.shape(), set.classes());
  const ExecutionOptions execution{.device = DeviceKind::cuda};
  const Session session(world(), find_placement(world(), execution, Reduce::canonical), execution);
  const ArenaLayout layout = layout_arena(network->parameters());
  const auto graph =
      session.backend().compile(build_graph(*network), layout, {.samples = 2, .training = false});
  const Buffer parameters = session.device().allocate(layout.elements * sizeof(float));
  for (const std::uint64_t rounds : {1U, 2U}) {
    std::vector<int> leaves;  // of each recording
    const Recordings recordings([&](std::span<const GraphAction> actions) {
      leaves.push_back(static_cast<int>(std::ranges::count_if(
          actions, [](const GraphAction& action) { return short_name(action.name) == "GatherImages"; })));
    });
    Evaluator evaluator(session, *graph, set, 2, parameters.floats(), {}, rounds);
    EXPECT_EQ(leaves, rounds == 1 ? std::vector({68, 68, 69}) : std::vector({51, 51, 51, 52}));
    EXPECT_EQ(evaluator.run().samples, samples);
  }
}

struct Total {
  StepOptions options;
  std::size_t launches;
};

TEST(Launches, Total) {
  const Total totals[] = {
      {{.model = "lenet", .batch = 256}, 24},
      {{.model = "lenet", .batch = 256, .micro_batches = 2}, 46},
      {{.model = "lenet", .batch = 256, .optimizer = {.name = "adamw"}}, 25},
      {{.model = "lenet", .batch = 256, .optimizer = {.clip_grad = 1.0}}, 27},
      {{.model = "mlp", .batch = 256}, 15},
      {{.model = "resnet18-d2l", .batch = 64}, 147},
  };
  for (const Total& total : totals) {
    EXPECT_EQ(launches_of(total.options).size(), total.launches)
        << total.options.model << ", " << total.options.micro_batches << " micro-batches, "
        << total.options.optimizer.name << ", clip " << total.options.optimizer.clip_grad;
  }
}

}  // namespace
}  // namespace lockstep
