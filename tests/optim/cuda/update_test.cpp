// Updates on the GPU's kernels against the CPU's, bit by bit.
#include "optim/cuda/update.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "device/cpu/cpu_device.h"
#include "emulation/open_device.h"
#include "ops/cuda/step.h"
#include "optim/cuda/arena_update.h"
#include "reduce/gradients.h"

namespace lockstep::cuda {
namespace {

constexpr std::uint64_t samples = 10;
constexpr std::size_t steps = 4;

/// Parameters of odd sizes and many blocks, statistics between them.
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

/// An update of all elements, as one rank of a run calls it; all memory is the host's.
class TrainingRun {
 public:
  TrainingRun(const Scenario& scenario, bool on_cuda)
      : scenario_(scenario),
        on_cuda_(on_cuda),
        device_(on_cuda ? std::unique_ptr<Device>(std::make_unique<OpenDevice>())
                        : make_cpu_device({.threads = 1, .pin = false})),
        optimizer_(make_optimizer(scenario.options)),
        layerwise_(dynamic_cast<const LayerwiseOptimizer*>(optimizer_.get()) != nullptr),
        segments_(make_segments(parameters(), layout_, scenario.options, layerwise_)),
        values_(arena(random_arena(9, 0.01F))),
        averages_(arena(random_arena(9, 0.01F))),
        sum_(arena(scenario.sums[0])),
        inputs_(scenario.sums.size()),
        outcomes_(scenario.sums.size()) {
    const ArenaUpdateOptions options{.device = *device_,
                                     .optimizer = *optimizer_,
                                     .rule = scenario_.options,
                                     .segments = segments_,
                                     .norms = norms_,
                                     .parameters = parameters().size(),
                                     .last = layout_.elements,
                                     .values = values_.floats(),
                                     .averages = averages_.floats(),
                                     .average_decay = 0.9,
                                     .log = log()};
    update_ = on_cuda ? make_arena_update(options, &stopped_) : make_cpu_arena_update(options);
  }

  std::vector<Result> train() {
    std::vector<Result> results;
    for (const std::vector<float>& sum : scenario_.sums) {
      inputs_[position_] = {.number = position_ + 1,
                            .samples = samples,
                            .learning_rate = 0.01F * static_cast<float>(position_ + 1)};
      std::ranges::copy(sum, sum_.floats().begin());
      run_step();
      results.push_back({to_vector(values_), to_vector(averages_), outcomes_[position_].gradient_norm});
      ++position_;
    }
    return results;
  }

  double loss = 1.0;
  std::vector<StepOutcome>& outcomes() { return outcomes_; }

 private:
  StepLog log() { return {inputs_.data(), outcomes_.data(), &position_}; }
  Buffer arena(const std::vector<float>& values) {
    Buffer buffer = device_->allocate(values.size() * sizeof(float));
    device_->copy(buffer.data(), values.data(), values.size() * sizeof(float));
    return buffer;
  }
  static std::vector<float> to_vector(const Buffer& buffer) {
    return {buffer.floats().begin(), buffer.floats().end()};
  }

  void run_step() {
    const LeafResult result{.loss = loss, .samples = samples};
    conclude_leaves(nullptr, &result, 1, log(), &stopped_);
    float* sum = sum_.floats().data();
    std::vector<double> gradient_sums(norms_.blocks()), parameter_sums(norms_.blocks());
    if (scenario_.options.clip_grad > 0.0) {
      update_->measure(sum, gradient_sums.data());
      update_->clip(gradient_sums.data());
    }
    if (layerwise_) {
      update_->prepare(sum);
      update_->measure(sum, gradient_sums.data());
      update_->measure(values_.floats().data(), parameter_sums.data());
      update_->choose_trust_ratios(gradient_sums.data(), parameter_sums.data());
    }
    apply(sum);
  }

  /// The CPU's at once, the kernels' in parts of odd lengths, in units of 16.
  void apply(const float* sum) {
    for (std::size_t begin = 0; begin < layout_.elements;) {
      const std::size_t rest = layout_.elements - begin;
      const std::size_t count = on_cuda_ ? std::min<std::size_t>(16 * (1 + random_() % 70), rest) : rest;
      update_->apply(begin, {sum + begin, count});
      begin += count;
    }
  }

  Scenario scenario_;
  bool on_cuda_;
  ArenaLayout layout_ = layout_arena(parameters());
  BlockNorms norms_{parameters(), layout_};
  std::unique_ptr<Device> device_;
  std::unique_ptr<Optimizer> optimizer_;
  bool layerwise_;
  std::vector<Segment> segments_;
  Buffer values_, averages_, sum_;
  std::vector<StepInput> inputs_;
  std::vector<StepOutcome> outcomes_;
  std::uint32_t position_ = 0;
  std::uint32_t stopped_ = 0;
  std::unique_ptr<ArenaUpdate> update_;
  std::mt19937 random_{1};
};

struct Row {
  const char* name;
  OptimizerOptions options;
};

class UpdateKernels : public testing::TestWithParam<Row> {};
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
INSTANTIATE_TEST_SUITE_P(
    Rules, UpdateKernels,
    testing::Values(Row{"sgd", {}}, Row{"sgd_decay", {.weight_decay = 0.01, .filter_bias_and_bn = true}},
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
  for (const char* name : {"sgd", "lamb"}) {
    Scenario scenario = random_scenario({.name = name, .clip_grad = 1.0});
    scenario.sums[1][5] = std::numeric_limits<float>::infinity();
    TrainingRun run(scenario, true);
    const std::vector<Result> results = run.train();
    EXPECT_TRUE(std::isinf(run.outcomes()[1].gradient_norm));
    EXPECT_NE(results[0].values, random_arena(9, 0.01F));
    for (std::size_t step = 1; step < steps; ++step) {  // the ones that were on their way, too
      EXPECT_EQ(run.outcomes()[step].updates, 0U) << step;
      EXPECT_EQ(results[step].values, results[0].values) << step;
      EXPECT_EQ(results[step].averages, results[0].averages) << step;
    }
  }
}

TEST(UpdateOnKernels, ChangesNothingAfterALossThatIsNotFinite) {
  for (const char* name : {"sgd", "adamw", "lars", "lamb"}) {
    TrainingRun run(random_scenario({.name = name}), true);
    run.loss = std::numeric_limits<double>::quiet_NaN();
    for (const Result& result : run.train()) {
      EXPECT_EQ(result.values, random_arena(9, 0.01F)) << name;
      EXPECT_EQ(result.averages, random_arena(9, 0.01F)) << name;
    }
  }
}

/// A rank that updates the second half has the states of the second half only.
TEST(UpdateOnKernels, StatesBeginWhereTheRanksElementsDo) {
  const ArenaLayout layout = layout_arena(parameters());
  const OptimizerOptions options{.momentum = 0.9};
  const auto device = std::make_unique<OpenDevice>();
  const UpdateTables tables(*device, make_segments(parameters(), layout, options, false),
                            BlockNorms(parameters(), layout));
  StepInput input{.learning_rate = 0.5F};
  StepOutcome outcome{.gradient_scale = 1.0F, .statistic_scale = 1.0F, .updates = 1};
  std::uint32_t position = 0, stopped = 0;
  const std::vector<float> sum = random_arena(1, 1.0F);
  const std::size_t half = layout.elements / 32 * 16, rest = layout.elements - half;
  const auto run = [&](std::size_t first) {
    std::vector<float> values = random_arena(9, 1.0F);
    Buffer arena = device->allocate(values.size() * sizeof(float));
    device->copy(arena.data(), values.data(), arena.bytes());
    Buffer states = device->allocate((layout.elements - first) * sizeof(float));
    Buffer sums = device->allocate(sum.size() * sizeof(float));
    device->copy(sums.data(), sum.data(), sums.bytes());
    UpdateMemory memory = tables.update();
    memory.log = {&input, &outcome, &position};
    memory.stopped = &stopped;
    memory.values = arena.floats().data();
    memory.states = {states.floats().data()};
    memory.first = first;
    for (int i = 0; i < 2; ++i) {
      update(nullptr, make_rule(options), memory, half, rest, sums.floats().data() + half);
    }
    device->copy(values.data(), arena.data(), arena.bytes());
    return values;
  };
  EXPECT_EQ(run(half), run(0));
  EXPECT_NE(run(0), random_arena(9, 1.0F));
}

TEST(Norms, HaveTheBitsOfBlockNorms) {
  const ArenaLayout layout = layout_arena(parameters());
  const BlockNorms norms(parameters(), layout);
  const auto device = std::make_unique<OpenDevice>();
  const UpdateTables tables(*device, make_segments(parameters(), layout, {}, false), norms);
  const std::vector<float> arena = random_arena(3, 100.0F);
  std::vector<double> expected(norms.blocks()), sums(norms.blocks()), squares(parameters().size());
  norms.measure(arena, 0, expected);
  measure(nullptr, tables.norms(), 0, sums.size(), arena.data(), sums.data());
  EXPECT_EQ(sums, expected);
  add_blocks(nullptr, tables.norms(), sums.data(), squares.data());
  for (std::size_t i = 0; i < squares.size(); ++i) {
    EXPECT_EQ(squares[i], norms.squares(i, expected)) << parameters()[i].name;
  }
}

}  // namespace
}  // namespace lockstep::cuda
