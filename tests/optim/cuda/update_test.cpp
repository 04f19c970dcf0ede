// Updates on the GPU's kernels against train/updater.h, bit by bit.
#include "optim/cuda/update.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "device/cpu/cpu_device.h"
#include "device/cuda/cuda_device.h"
#include "ops/cuda/step.h"
#include "reduce/gradients.h"
#include "train/updater.h"

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
  double average_decay = 0.9;
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

float learning_rate(std::size_t step) { return 0.01F * static_cast<float>(step + 1); }

std::vector<Result> train_on_cpu(const Scenario& scenario) {
  const ArenaLayout layout = layout_arena(parameters());
  Result state{random_arena(9, 0.01F), random_arena(9, 0.01F)};
  std::vector<float> sum(layout.elements);
  const auto device = make_cpu_device({.threads = 1, .pin = false});
  const auto communicator = make_self_communicator();
  Updater updater(*device, *communicator,
                  {.parameters = parameters(),
                   .layout = layout,
                   .optimizer = scenario.options,
                   .values = state.values,
                   .averages = state.averages,
                   .average_decay = scenario.average_decay});
  ReducerOptions options{state.values, assign(1, 1, 0, 1), {{{0, 0}, sum.data()}}, updater.slices()};
  const auto reducer = make_canonical_reducer(*communicator, options);
  std::vector<Result> results;
  for (std::size_t step = 0; step < scenario.sums.size(); ++step) {
    sum = scenario.sums[step];
    updater.run(*reducer, {.gradient_scale = 1.0F / static_cast<float>(samples),
                           .learning_rate = learning_rate(step),
                           .number = step + 1});
    state.norm = updater.gradient_norm();
    results.push_back(state);
  }
  return results;
}

/// The kernels as one rank of a run calls them.
class KernelRun {
 public:
  explicit KernelRun(const Scenario& scenario)
      : scenario_(scenario),
        layout_(layout_arena(parameters())),
        device_(make_cuda_device({})),
        rule_(make_rule(scenario.options)),
        layerwise_(std::visit([](const auto& rule) { return rule.layerwise; }, rule_)),
        norms_(parameters(), layout_),
        tables_(*device_, make_segments(parameters(), layout_, scenario.options, layerwise_), norms_),
        values_(arena(random_arena(9, 0.01F))),
        averages_(arena(random_arena(9, 0.01F))),
        sum_(device_->allocate(layout_.elements * sizeof(float))),
        first_states_(device_->allocate(layout_.elements * sizeof(float))),
        second_states_(device_->allocate(layout_.elements * sizeof(float))),
        inputs_(scenario.sums.size()),
        outcomes_(scenario.sums.size()) {
    memory_ = tables_.update();
    memory_.log = {inputs_.data(), outcomes_.data(), &position_};
    memory_.stopped = &stopped_;
    memory_.values = values_.floats().data();
    memory_.averages = averages_.floats().data();
    memory_.average_keep = static_cast<float>(scenario.average_decay);
    memory_.average_take = static_cast<float>(1.0 - scenario.average_decay);
    memory_.states = {first_states_.floats().data(), second_states_.floats().data()};
  }

  std::vector<Result> train() {
    std::vector<Result> results;
    for (std::size_t step = 0; step < scenario_.sums.size(); ++step) {
      inputs_[step] = {.number = step + 1, .samples = samples, .learning_rate = learning_rate(step)};
      std::ranges::copy(scenario_.sums[step], sum_.floats().begin());
      run_step();
      results.push_back({to_vector(values_), to_vector(averages_), outcomes_[step].gradient_norm});
    }
    return results;
  }

  double loss = 1.0;
  std::vector<StepOutcome>& outcomes() { return outcomes_; }

 private:
  Buffer arena(const std::vector<float>& values) {
    Buffer buffer = device_->allocate(values.size() * sizeof(float));
    device_->copy(buffer.data(), values.data(), values.size() * sizeof(float));
    return buffer;
  }
  static std::vector<float> to_vector(const Buffer& buffer) {
    return {buffer.floats().begin(), buffer.floats().end()};
  }

  std::vector<double> squares_of(const Buffer& arena) {
    std::vector<double> sums(norms_.blocks()), squares(parameters().size());
    const NormMemory norms = tables_.norms();
    const std::size_t half = norms_.blocks() / 2;
    measure(nullptr, norms, 0, half, arena.floats().data(), sums.data());
    measure(nullptr, norms, half, sums.size() - half, arena.floats().data() + norms_.all_blocks()[half].begin,
            sums.data() + half);
    add_blocks(nullptr, norms, sums.data(), squares.data());
    return squares;
  }

  /// Calls part(begin, count) for parts of the arena of odd lengths, in units of 16.
  template <class Part>
  void in_parts(const Part& part) {
    for (std::size_t begin = 0; begin < layout_.elements;) {
      const std::size_t count = std::min<std::size_t>(16 * (1 + random_() % 70), layout_.elements - begin);
      part(begin, count);
      begin += count;
    }
  }

  void run_step() {
    const LeafResult result{.loss = loss, .samples = samples};
    conclude_leaves(nullptr, &result, 1, memory_.log, &stopped_);
    if (scenario_.options.clip_grad > 0.0) {
      clip(nullptr, memory_, squares_of(sum_).data(), scenario_.options.clip_grad);
    }
    float* sum = sum_.floats().data();
    if (layerwise_) {
      in_parts([&](std::size_t begin, std::size_t count) {
        prepare(nullptr, rule_, memory_, begin, count, sum + begin);
      });
      choose_trust_ratios(nullptr, rule_, memory_, squares_of(values_).data(), squares_of(sum_).data());
    }
    in_parts([&](std::size_t begin, std::size_t count) {
      update(nullptr, rule_, memory_, begin, count, sum + begin);
    });
    advance(nullptr, &position_);
  }

  Scenario scenario_;
  ArenaLayout layout_;
  std::unique_ptr<Device> device_;
  OptimizerRule rule_;
  bool layerwise_;
  BlockNorms norms_;
  UpdateTables tables_;
  Buffer values_, averages_, sum_, first_states_, second_states_;
  std::vector<StepInput> inputs_;
  std::vector<StepOutcome> outcomes_;
  std::uint32_t position_ = 0;
  std::uint32_t stopped_ = 0;
  UpdateMemory memory_;
  std::mt19937 random_{1};
};

struct Row {
  const char* name;
  OptimizerOptions options;
};

class UpdateKernels : public testing::TestWithParam<Row> {};
TEST_P(UpdateKernels, HaveTheBitsOfTheUpdater) {
  for (const double clip : {0.0, 0.5, 1e9}) {
    Scenario scenario = random_scenario(GetParam().options);
    scenario.options.clip_grad = clip;
    const std::vector<Result> expected = train_on_cpu(scenario);
    const std::vector<Result> results = KernelRun(scenario).train();
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
    KernelRun run(scenario);
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
    KernelRun run(random_scenario({.name = name}));
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
  const auto device = make_cuda_device({});
  const UpdateTables tables(*device, make_segments(parameters(), layout, options, false),
                            BlockNorms(parameters(), layout));
  StepInput input{.learning_rate = 0.5F};
  StepOutcome outcome{.statistic_scale = 1.0F, .gradient_scale = 1.0F, .updates = 1};
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
  const auto device = make_cuda_device({});
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
