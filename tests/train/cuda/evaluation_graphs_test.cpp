// Graphs and workspaces of evaluations.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "device/kernel_times.h"
#include "fake_cuda/fake_cuda.h"
#include "lockstep/models.h"
#include "support/synthetic.h"
#include "train/evaluator.h"

namespace lockstep::test {
namespace {

TEST(EvaluationGraphs, HaveALimitedLength) {
  constexpr std::uint32_t samples = 2 * 205 - 1;
  const Synthetic set(samples, {1, 12, 12}, 10);
  const auto network = make_model("mlp:12", set.shape(), set.classes());
  const ExecutionOptions execution{.device = DeviceKind::cuda, .streams = 1};
  const Session session(world(), find_placement(world(), execution, Reduce::canonical), execution);
  const ArenaLayout layout = layout_arena(network->parameters());
  const auto graph =
      session.backend().compile(build_graph(*network), layout, {.samples = 2, .training = false});
  const Buffer parameters = session.device().allocate(layout.elements * sizeof(float));
  for (const std::uint64_t rounds : {1U, 2U}) {
    fake_cuda::take_graphs();
    Evaluator evaluator(session, *graph, set, 2, parameters.floats(), {}, rounds);
    std::vector<int> leaves;
    for (const std::vector<std::string>& names : fake_cuda::take_graphs()) {
      leaves.push_back(static_cast<int>(std::ranges::count_if(
          names, [](const std::string& name) { return kernel_name(name.c_str()) == "GatherImages"; })));
    }
    EXPECT_EQ(leaves, rounds == 1 ? std::vector({68, 68, 69}) : std::vector({51, 51, 51, 52}));
    EXPECT_EQ(evaluator.run().samples, samples);
  }
}

/// The last micro-batch of the second data set needs a larger workspace, with another layout. Otherwise the
/// first evaluator would write behind the end of its own.
TEST(Evaluators, OfOneGraphHaveWorkspacesOfTheirOwn) {
  const Synthetic first_set(40, {1, 12, 12}, 10), second_set(33, {1, 12, 12}, 10);
  const auto network = make_model("mlp:12", first_set.shape(), first_set.classes());
  const ExecutionOptions execution{.device = DeviceKind::cuda, .cuda_graph = false, .streams = 1};
  const Session session(world(), find_placement(world(), execution, Reduce::canonical), execution);
  const ArenaLayout layout = layout_arena(network->parameters());
  const auto graph =
      session.backend().compile(build_graph(*network), layout, {.samples = 16, .training = false});
  const Buffer parameters = session.device().allocate(layout.elements * sizeof(float));
  Evaluator first(session, *graph, first_set, 16, parameters.floats());
  const Evaluation alone = first.run();
  Evaluator second(session, *graph, second_set, 16, parameters.floats());
  EXPECT_EQ(second.run().samples, 33U);
  const Evaluation again = first.run();
  EXPECT_EQ(again.samples, 40U);
  EXPECT_EQ(again.loss, alone.loss);
}

}  // namespace
}  // namespace lockstep::test
