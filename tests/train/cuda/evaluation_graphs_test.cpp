// Graphs and workspaces of evaluators.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "device/kernel_times.h"
#include "fake_cuda/fake_cuda.h"
#include "lockstep/models.h"
#include "train/evaluator.h"
#include "train/phases.h"

namespace lockstep::test {
namespace {

TEST(EvaluationGraphs, HaveALimitedLength) {
  constexpr std::uint32_t samples = 2 * 205 - 1;
  const Synthetic set(samples, {1, 12, 12}, 10);
  const NetworkToEvaluate network(*make_model("mlp:12", set.shape(), set.classes()),
                                  {.device = DeviceKind::cuda, .streams = 1}, 2);
  for (const std::uint64_t rounds : {1U, 2U}) {
    fake_cuda::take_graphs();
    Evaluator evaluator(network.session, *network.graph, set, 2, network.parameters.floats(), {}, rounds);
    std::vector<int> leaves;
    for (const std::vector<std::string>& names : fake_cuda::take_graphs()) {
      leaves.push_back(static_cast<int>(std::ranges::count_if(
          names, [](const std::string& name) { return kernel_name(name.c_str()) == "GatherImages"; })));
    }
    EXPECT_EQ(leaves, rounds == 1 ? std::vector({68, 68, 69}) : std::vector({51, 51, 51, 52}));
    EXPECT_EQ(evaluator.run().samples, samples);
  }
}

/// The last micro-batch of the second data set needs a larger workspace with another layout. If the
/// evaluators shared a layout, the first one would write past the end of its workspace.
TEST(Evaluators, OfOneGraphHaveWorkspacesOfTheirOwn) {
  const Synthetic first_set(40, {1, 12, 12}, 10), second_set(33, {1, 12, 12}, 10);
  const NetworkToEvaluate network(*make_model("mlp:12", first_set.shape(), first_set.classes()),
                                  {.device = DeviceKind::cuda, .cuda_graph = false, .streams = 1}, 16);
  const auto evaluator_of = [&](const Synthetic& set) {
    return Evaluator(network.session, *network.graph, set, 16, network.parameters.floats());
  };
  Evaluator first = evaluator_of(first_set);
  const Evaluation alone = first.run();
  Evaluator second = evaluator_of(second_set);
  EXPECT_EQ(second.run().samples, 33U);
  const Evaluation again = first.run();
  EXPECT_EQ(again.samples, 40U);
  EXPECT_EQ(again.loss, alone.loss);
}

}  // namespace
}  // namespace lockstep::test
