// Compares updates by GPU kernels with the CPU's, bit by bit.
#include "optim/cuda/update.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <limits>
#include <random>

#include "device/cpu/cpu_device.h"
#include "gradient/gradients.h"
#include "ops/cuda/step.h"
#include "optim/cuda/arena_update.h"
#include "support/device_array.h"
#include "train/step/outcome.h"

namespace lockstep::cuda {
namespace {

using lockstep::test::DeviceArray;
using lockstep::test::run_kernels;
using lockstep::test::run_on;

constexpr std::uint64_t samples = 10;
constexpr std::size_t steps = 4;

/// Parameters of odd sizes and many blocks, with statistics between them.
const std::vector<Parameter>& parameters() {
  static const std::vector<Parameter> all{{"conv1.weight", {50, 61}, {}},
                                          {"bn1.weight", {50}, {}},
                                          {"bn1.running_mean", {50}, {}, 0.1},
                                          {"conv2.weight", {41, 103}, {}},
                                          {"bn2.running_mean", {1}, {}, 1.0},
                                          {"conv2.bias", {41}, {}},
                                          {"fc.weight", {1, 1}, {}}};
  return all;
}

std::vector<float> random_arena(std::uint32_t seed, float scale) {
  const ArenaLayout layout = layout_arena(parameters());
  std::vector<float> arena(layout.elements, 0.0F);
  for (std::size_t i = 0; i < parameters().size(); ++i) {
    for (std::size_t e = 0; e < parameters()[i].size(); ++e) {
      arena[layout.offsets[i] + e] = gradient(seed, layout.offsets[i] + e) * scale;
    }
  }
  return arena;
}

struct Scenario {
  OptimizerOptions options;
  std::vector<std::vector<float>> sums;
};

Scenario random_scenario(const OptimizerOptions& options) {
  Scenario scenario{.options = options, .sums = {}};
  for (std::uint32_t step = 0; step < steps; ++step) scenario.sums.push_back(random_arena(step, 0.1F));
  return scenario;
}

struct Result {
  std::vector<float> values, averages;
  double norm = 0.0;
  bool operator==(const Result&) const = default;
};

/// Updates all elements, as a run on one rank does.
class TrainingRun {
 public:
  TrainingRun(const Scenario& scenario, bool on_cuda)
      : scenario_(scenario),
        on_cuda_(on_cuda),
        device_(on_cuda ? make_cuda_device() : make_cpu_device({.threads = 1, .pin = false})),
        optimizer_(scenario.options),
        segments_(make_segments(parameters(), layout_, scenario.options, optimizer_.layerwise())) {
    for (std::size_t i = 0; i < optimizer_.states().size(); ++i) {
      buffers_.push_back(device_->allocate(layout_.elements * sizeof(float)));
      arenas_.states.push_back(buffers_.back().floats());
    }
    const ArenaUpdateOptions options{.device = *device_,
                                     .optimizer = optimizer_,
                                     .segments = segments_,
                                     .norms = norms_,
                                     .arenas = arenas_,
                                     .parameters = parameters().size(),
                                     .last = layout_.elements,
                                     .clip_grad = scenario_.options.clip_grad,
                                     .log = log()};
    update_ = on_cuda ? make_arena_update(options, stopped_.data()) : make_cpu_arena_update(options);
  }

  std::vector<Result> train() {
    std::vector<Result> results;
    results_.store({{.loss = 1.0, .samples = samples}});
    for (std::uint32_t step = 0; step < steps; ++step) {
      positions_.store({step, step});
      sum_.store(scenario_.sums[step]);
      run_on(*device_, [this](Stream& stream) { run_step(stream); });
      results.push_back({values_.fetch(), averages_.fetch(), outcomes()[step].gradient_norm});
    }
    return results;
  }

  std::vector<StepOutcome> outcomes() const { return outcomes_.fetch(); }

 private:
  static std::vector<StepInput> step_inputs() {
    std::vector<StepInput> inputs;
    for (std::size_t step = 0; step < steps; ++step) {
      inputs.push_back(
          {.number = step + 1, .samples = samples, .learning_rate = 0.01F * static_cast<float>(step + 1)});
    }
    return inputs;
  }
  StepLog log_at(std::size_t position) const {
    return {inputs_.data(), outcomes_.data(), positions_.data() + position};
  }
  /// Log of the concluded step.
  StepLog log() const { return log_at(1); }

  void run_step(Stream& stream) {
    if (on_cuda_) {
      conclude_leaves(handle_of(stream), results_.data(), 1, log_at(0), positions_.data(), stopped_.data());
    } else {
      stream.call([this] { log().outcome() = outcome_of({results_.data(), 1}); }, Phase::reduce);
    }
    if (scenario_.options.clip_grad > 0.0) {
      update_->measure(stream, sum_.data(), gradient_sums_.data());
      update_->clip(stream, gradient_sums_.data());
    }
    if (optimizer_.layerwise()) {
      update_->prepare(stream, sum_.data());
      update_->measure(stream, sum_.data(), gradient_sums_.data());
      update_->measure(stream, values_.data(), parameter_sums_.data());
      update_->choose_trust_ratios(stream, gradient_sums_.data(), parameter_sums_.data());
    }
    apply(stream);
  }

  /// Applies the update: on the CPU in one call, by kernels in parts of random multiples of 16 elements.
  void apply(Stream& stream) {
    inputs_of_chunks_.clear();
    for (std::size_t begin = 0; begin < layout_.elements;) {
      const std::size_t rest = layout_.elements - begin;
      const std::size_t count = on_cuda_ ? std::min<std::size_t>(16 * (1 + random_() % 70), rest) : rest;
      inputs_of_chunks_.push_back(sum_.data() + begin);
      update_->apply(stream, {begin, begin + count, {&inputs_of_chunks_.back(), 1}}, one_input_);
      begin += count;
    }
  }

  Scenario scenario_;
  bool on_cuda_;
  ArenaLayout layout_ = layout_arena(parameters());
  BlockNorms norms_{parameters(), layout_};
  std::unique_ptr<Device> device_;
  Optimizer optimizer_;
  std::vector<Segment> segments_;
  std::vector<Buffer> buffers_;  ///< states of the update rule
  DeviceArray<float> values_{*device_, random_arena(9, 0.01F)};
  DeviceArray<float> averages_{*device_, random_arena(9, 0.01F)};
  UpdatedArenas arenas_{.values = {values_.data(), values_.size()},
                        .averages = {averages_.data(), averages_.size()},
                        .average_decay = 0.9};
  DeviceArray<float> sum_{*device_, layout_.elements};
  DeviceArray<double> gradient_sums_{*device_, norms_.blocks()};
  DeviceArray<double> parameter_sums_{*device_, norms_.blocks()};
  DeviceArray<LeafResult> results_{*device_, 1};
  DeviceArray<StepInput> inputs_{*device_, step_inputs()};
  DeviceArray<StepOutcome> outcomes_{*device_, steps};
  DeviceArray<std::uint32_t> positions_{*device_, 2};
  DeviceArray<std::uint32_t> stopped_{*device_, 1};
  const Fold one_input_{.program = {0}, .depth = 1};
  std::deque<const float*> inputs_of_chunks_;
  std::unique_ptr<ArenaUpdate> update_;
  std::mt19937 random_{1};
};

struct Row {
  const char* name;
  OptimizerOptions options;
};

class UpdateKernels : public ::testing::TestWithParam<Row> {};
TEST_P(UpdateKernels, HaveTheBitsOfTheCpu) {
  for (const double clip : {0.0, 0.5, 1e9}) {
    Scenario scenario = random_scenario(GetParam().options);
    scenario.options.clip_grad = clip;
    const std::vector<Result> expected = TrainingRun(scenario, false).train();
    const std::vector<Result> results = TrainingRun(scenario, true).train();
    ASSERT_EQ(results.size(), expected.size());
    for (std::size_t step = 0; step < results.size(); ++step) {
      EXPECT_EQ(results[step].norm, expected[step].norm) << "step " << step << ", largest norm " << clip;
      ASSERT_EQ(results[step], expected[step]) << "step " << step << ", largest norm " << clip;
      EXPECT_NE(expected[step].values, step > 0 ? expected[step - 1].values : random_arena(9, 0.01F));
    }
  }
}

/// The gradient of a bias before a batch norm is zero.
TEST_P(UpdateKernels, LeaveAParameterWhoseGradientIsZeroToWeightDecay) {
  const ArenaLayout layout = layout_arena(parameters());
  const std::size_t begin = layout.offsets[5], end = begin + parameters()[5].size();
  const OptimizerOptions& options = GetParam().options;
  const bool decays = options.weight_decay > 0.0 && !options.filter_bias_and_bn;
  const std::vector<float> first = random_arena(9, 0.01F);
  for (const double clip : {0.0, 0.5}) {
    Scenario scenario = random_scenario(options);
    scenario.options.clip_grad = clip;
    for (std::vector<float>& sum : scenario.sums) std::fill(&sum[begin], &sum[end], 0.0F);
    for (const bool on_cuda : {false, true}) {
      const std::vector<float> values = TrainingRun(scenario, on_cuda).train().back().values;
      for (std::size_t i = begin; i < end; ++i) {
        if (decays) {
          EXPECT_LT(std::abs(values[i]), std::abs(first[i])) << i;
        } else {
          EXPECT_EQ(values[i], first[i]) << i;
        }
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(
    Rules, UpdateKernels,
    ::testing::Values(Row{"sgd", {}}, Row{"sgd_decay", {.weight_decay = 0.01, .filter_bias_and_bn = true}},
                      Row{"sgd_momentum", {.momentum = 0.9, .weight_decay = 0.01}},
                      Row{"sgd_nesterov", {.momentum = 0.9, .nesterov = true, .freeze = {"conv1"}}},
                      Row{"adamw", {.name = "adamw", .weight_decay = 0.1, .filter_bias_and_bn = true}},
                      Row{"adamw_frozen",
                          {.name = "adamw", .beta2 = 0.99, .freeze = {"bn1.running_mean", "conv2.*"}}},
                      Row{"lars", {.name = "lars", .weight_decay = 0.01}},
                      Row{"lars_momentum", {.name = "lars", .momentum = 0.9, .always_adapt = true}},
                      Row{"lars_nesterov",
                          {.name = "lars",
                           .momentum = 0.9,
                           .nesterov = true,
                           .trust_coefficient = 0.1,
                           .weight_decay = 0.01,
                           .filter_bias_and_bn = true}},
                      Row{"lamb", {.name = "lamb", .weight_decay = 0.1}},
                      Row{"lamb_adapt", {.name = "lamb", .always_adapt = true, .freeze = {"bn1"}}}),
    [](const auto& instance) { return instance.param.name; });

TEST(UpdateOnKernels, StopsAtANormThatIsNotFinite) {
  for (const char* name : {"sgd", "adamw", "lars", "lamb"}) {
    Scenario scenario = random_scenario({.name = name, .clip_grad = 1.0});
    scenario.sums[1][5] = std::numeric_limits<float>::infinity();
    TrainingRun run(scenario, true);
    const std::vector<Result> results = run.train();
    EXPECT_TRUE(std::isinf(run.outcomes()[1].gradient_norm));
    EXPECT_NE(results[0].values, random_arena(9, 0.01F));
    for (std::size_t step = 1; step < steps; ++step) {  // also steps already submitted
      EXPECT_EQ(run.outcomes()[step].updates, 0U) << step;
      EXPECT_EQ(results[step].values, results[0].values) << step;
      EXPECT_EQ(results[step].averages, results[0].averages) << step;
    }
  }
}

TEST(Norms, HaveTheBitsOfBlockNorms) {
  const ArenaLayout layout = layout_arena(parameters());
  const BlockNorms norms(parameters(), layout);
  const std::vector<float> arena = random_arena(3, 100.0F);
  std::vector<double> expected(norms.blocks());
  norms.measure(arena, 0, expected);
  const auto device = make_cuda_device();
  const UpdateTables tables(*device, make_segments(parameters(), layout, {}, false), norms);
  const DeviceArray<float> values(*device, arena);
  const DeviceArray<double> sums(*device, norms.blocks()), squares(*device, parameters().size());
  const std::size_t some = norms.blocks() / 2, rest = norms.blocks() - some;
  run_kernels(*device, [&](StreamHandle stream) {
    measure(stream, tables.norms(), 0, some, values.data(), sums.data());
    measure(stream, tables.norms(), some, rest, values.data() + norms.all_blocks()[some].begin,
            sums.data() + some);
    add_blocks(stream, tables.norms(), sums.data(), squares.data());
  });
  EXPECT_EQ(sums.fetch(), expected);
  for (std::size_t i = 0; i < parameters().size(); ++i) {
    EXPECT_EQ(squares.fetch()[i], norms.squares(i, expected)) << parameters()[i].name;
  }
}

}  // namespace
}  // namespace lockstep::cuda
