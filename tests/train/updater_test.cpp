// Updates by several ranks, compared with PyTorch (tests/optim/references.json) and, bit by bit, with one
// rank.
#include "train/step/updater.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "gradient/gradients.h"
#include "gradient/thread_ranks.h"
#include "train/session/backend.h"
#include "train/step/step_table.h"

namespace lockstep {
namespace {

constexpr std::uint32_t leaves = 4;

struct Scenario {
  std::vector<Parameter> parameters;
  OptimizerOptions options;
  std::vector<float> start;                   ///< initial values, as an arena
  std::vector<std::vector<float>> gradients;  ///< gradient of each step; leaf i has i + 1 times this gradient
  float learning_rate = 0.1F;
  double average_decay = 0.0;
  bool ring = false;
};

struct Arenas {
  std::vector<float> values, averages;
  bool operator==(const Arenas&) const = default;
};

/// Fills one rank's leaf gradients of a step. The sum over all leaves is 10 times `gradient`.
void fill(std::vector<std::vector<float>>& own, std::uint32_t first, const std::vector<float>& gradient) {
  for (std::size_t i = 0; i < own.size(); ++i) {
    const auto factor = static_cast<float>(first + i + 1);
    std::ranges::transform(gradient, own[i].begin(), [&](float value) { return value * factor; });
  }
}

/// Arenas after each step. The last entry has the averages gathered from all ranks.
std::vector<Arenas> train_rank(const Scenario& run, Communicator& communicator) {
  const ArenaLayout layout = layout_arena(run.parameters);
  Arenas arenas{run.start, run.average_decay > 0.0 ? run.start : std::vector<float>{}};
  const auto backend =
      make_cpu_backend({.execution = {.device = DeviceKind::cpu, .threads = 1}, .pin = false});
  StepTable table(backend->device(), 1);
  const auto alone = make_self_communicator();
  Communicator& owners = run.ring ? *alone : communicator;
  UpdatedArenas updated{.slices = update_slices(run.parameters, layout, run.options, owners.size()),
                        .values = arenas.values,
                        .averages = arenas.averages,
                        .average_decay = run.average_decay};
  const auto rank = static_cast<std::size_t>(owners.rank());
  std::vector<std::vector<float>> states(Optimizer(run.options).states().size(),
                                         std::vector<float>(updated.slices[rank + 1] - updated.slices[rank]));
  for (std::vector<float>& state : states) updated.states.emplace_back(state);
  Updater updater(*backend, owners, run.parameters, layout, run.options, updated, table.log());
  const Assignment assignment = assign(leaves, communicator.size(), communicator.rank(), 1);
  const std::uint32_t first = assignment.executors[0];
  std::vector<std::vector<float>> own(assignment.executors[1] - first, std::vector<float>(layout.elements));
  GradientSumsOptions options{.elements = layout.elements,
                              .assignment = assignment,
                              .partials = {},
                              .summation = backend->summation()};
  for (std::uint32_t i = 0; i < own.size(); ++i) options.partials.push_back({{first + i, 0}, own[i].data()});
  const auto gradients = run.ring ? plan_ring_sums(communicator, options, std::vector<std::size_t>{0})
                                  : plan_canonical_sums(communicator, options, updater.slices());
  Device& device = backend->device();
  const auto step_program = device.record([&] {
    gradients->ready(*device.streams()[0], 0);
    updater.record(*device.streams()[0], *gradients);
  });
  const auto averages_program = device.record([&] { updater.record_averages(*device.streams()[0]); });
  std::vector<Arenas> after;
  for (std::size_t step = 0; step < run.gradients.size(); ++step) {
    fill(own, first, run.gradients[step]);
    const StepInput input{.number = step + 1, .learning_rate = run.learning_rate};
    table.begin({&input, 1});
    StepOutcome outcome;
    outcome.gradient_scale = outcome.statistic_scale = 0.1F;
    outcome.updates = 1;
    table.log().outcome() = outcome;
    step_program->run();
    after.push_back(arenas);
  }
  averages_program->run();
  after.back() = arenas;
  return after;
}
std::vector<Arenas> train_alone(const Scenario& run) { return train_rank(run, *make_self_communicator()); }

/// Final arenas of all ranks.
std::vector<Arenas> train(const Scenario& run, int ranks) {
  std::vector<Arenas> all(static_cast<std::size_t>(ranks));
  run_as_ranks(ranks, [&](Communicator& communicator) {
    all[static_cast<std::size_t>(communicator.rank())] = train_rank(run, communicator).back();
  });
  return all;
}

const nlohmann::json& references() {
  static const nlohmann::json json =
      nlohmann::json::parse(std::ifstream(LOCKSTEP_TEST_DATA "/optim/references.json"));
  return json;
}

/// Arena of a 4 x 3 weight (elements 0 to 11) and a bias of 4 (elements 16 to 19), with a gap between them.
std::vector<float> arena_of(const nlohmann::json& flat) {
  const auto values = flat.get<std::vector<float>>();
  std::vector<float> arena(32, 0.0F);
  std::copy_n(values.begin(), 12, arena.begin());
  std::copy_n(values.begin() + 12, 4, arena.begin() + 16);
  return arena;
}

struct Reference {
  const char* name;
  OptimizerOptions options;
};

class FollowsReference : public testing::TestWithParam<Reference> {};
TEST_P(FollowsReference, OnAnyNumberOfRanksWithEitherSum) {
  const nlohmann::json& json = references();
  const nlohmann::json& parameters = json.at("optimizers").at(GetParam().name);
  Scenario run{.parameters = {{"weight", {4, 3}, {}}, {"bias", {4}, {}}},
               .options = GetParam().options,
               .start = arena_of(json.at("start")),
               .gradients = {}};
  for (const auto& gradient : json.at("gradients")) run.gradients.push_back(arena_of(gradient));
  for (const int ranks : {1, 2, 3}) {
    for (const bool ring : {false, true}) {
      run.ring = ring;
      run_as_ranks(ranks, [&](Communicator& communicator) {
        const std::vector<Arenas> after = train_rank(run, communicator);
        for (std::size_t step = 0; step < after.size(); ++step) {
          const std::vector<float> expected = arena_of(parameters.at(step));
          for (std::size_t i = 0; i < expected.size(); ++i) {
            EXPECT_NEAR(after[step].values[i], expected[i], 3e-6)
                << "step " << step + 1 << ", element " << i << ", " << ranks << " ranks";
          }
        }
      });
    }
  }
}
INSTANTIATE_TEST_SUITE_P(
    Rules, FollowsReference,
    testing::Values(
        Reference{"sgd", {.momentum = 0.9, .weight_decay = 0.01}},
        Reference{"nesterov", {.momentum = 0.9, .nesterov = true, .weight_decay = 0.01}},
        Reference{"filter", {.momentum = 0.9, .weight_decay = 0.01, .filter_bias_and_bn = true}},
        Reference{"clip", {.momentum = 0.9, .weight_decay = 0.01, .clip_grad = 1.5}},
        Reference{"adamw", {.name = "adamw", .weight_decay = 0.01}},
        Reference{"lars", {.name = "lars", .momentum = 0.9, .trust_coefficient = 0.1, .weight_decay = 0.01}},
        Reference{"lars_nesterov",
                  {.name = "lars",
                   .momentum = 0.9,
                   .nesterov = true,
                   .trust_coefficient = 0.1,
                   .always_adapt = true,
                   .weight_decay = 0.01}},
        Reference{"lars_clip", {.name = "lars", .trust_coefficient = 0.1, .clip_grad = 1.5}},
        Reference{"lamb", {.name = "lamb", .weight_decay = 0.01}},
        Reference{"lamb_clip",
                  {.name = "lamb",
                   .always_adapt = true,
                   .weight_decay = 0.01,
                   .filter_bias_and_bn = true,
                   .clip_grad = 1.0}}),
    [](const auto& instance) { return instance.param.name; });

/// Scenario with parameters of many blocks, statistics between them, and slices whose ideal ends lie within
/// blocks.
Scenario large(const OptimizerOptions& options) {
  Scenario run{.parameters = {{"conv1.weight", {50, 61}, {}},
                              {"bn1.weight", {50}, {}},
                              {"bn1.running_mean", {50}, {}, 0.1},
                              {"conv2.weight", {41, 103}, {}},
                              {"conv2.bias", {41}, {}}},
               .options = options,
               .start = {},
               .gradients = {},
               .learning_rate = 0.01F,
               .average_decay = 0.9};
  const ArenaLayout layout = layout_arena(run.parameters);
  run.start.assign(layout.elements, 0.0F);
  run.gradients.assign(3, run.start);
  for (std::size_t i = 0; i < run.parameters.size(); ++i) {
    for (std::size_t e = 0; e < run.parameters[i].size(); ++e) {
      const std::size_t at = layout.offsets[i] + e;
      run.start[at] = gradient(9, at) * 0.01F;
      for (std::uint32_t step = 0; step < 3; ++step) run.gradients[step][at] = gradient(step, at) * 0.01F;
    }
  }
  return run;
}

TEST(Updater, HasTheSameBitsOnAnyNumberOfRanks) {
  const OptimizerOptions rules[] = {
      {.momentum = 0.9, .weight_decay = 0.01},
      {.momentum = 0.9, .clip_grad = 0.5},
      {.name = "adamw", .weight_decay = 0.1, .filter_bias_and_bn = true, .clip_grad = 0.5},
      {.name = "lars", .momentum = 0.9, .weight_decay = 0.01},
      {.name = "lamb", .weight_decay = 0.1, .freeze = {"conv1"}},
      {.name = "lamb", .always_adapt = true, .clip_grad = 1.0}};
  for (const OptimizerOptions& rule : rules) {
    const Scenario run = large(rule);
    const Arenas expected = train_alone(run).back();
    EXPECT_NE(expected.values, run.start);
    for (const int ranks : {2, 3, 4, 7}) {
      for (const Arenas& arenas : train(run, ranks)) EXPECT_EQ(arenas, expected) << ranks << " ranks";
    }
  }
}

TEST(Updater, ALargestNormThatIsNotReachedChangesNoBits) {
  EXPECT_EQ(train(large({.clip_grad = 1e9}), 3)[0], train(large({}), 3)[0]);
}

TEST(Updater, StatisticsMoveToTheMeanWhateverIsClipped) {
  for (const double clip : {0.0, 1e-3}) {
    Scenario run = large({.clip_grad = clip});
    run.gradients.resize(1);
    const std::vector<float> after = train(run, 3)[0].values;
    const std::size_t first = layout_arena(run.parameters).offsets[2];
    for (std::size_t e = first; e < first + 50; ++e) {
      EXPECT_NEAR(after[e], 0.9 * run.start[e] + 0.1 * run.gradients[0][e], 1e-5) << clip;
    }
  }
}

TEST(Updater, FrozenParametersStay) {
  Scenario run = large({.momentum = 0.9, .weight_decay = 0.1, .freeze = {"conv1", "bn1.running_mean"}});
  const std::vector<float> after = train(run, 2)[0].values;
  const ArenaLayout layout = layout_arena(run.parameters);
  for (std::size_t e = 0; e < layout.offsets[1]; ++e) ASSERT_EQ(after[e], run.start[e]);
  for (std::size_t e = layout.offsets[2]; e < layout.offsets[3]; ++e) ASSERT_EQ(after[e], run.start[e]);
  EXPECT_NE(after[layout.offsets[1]], run.start[layout.offsets[1]]);
}

TEST(Updater, AveragesFollowTheValues) {
  const Scenario run = large({});
  const std::vector<Arenas> after = train_alone(run);
  for (std::size_t e = 0; e < run.start.size(); e += 7) {
    double expected = run.start[e];
    for (const Arenas& arenas : after)
      expected = 0.9 * expected + 0.1 * static_cast<double>(arenas.values[e]);
    EXPECT_NEAR(after.back().averages[e], expected, 1e-5);
  }
}

TEST(Updater, AveragesOfWhatStaysStay) {
  for (const double decay : {0.9, 0.999, 0.9998, 0.999999}) {
    Scenario run = large({.freeze = {"conv1", "bn1.running_mean"}});
    run.average_decay = decay;
    run.learning_rate = 0.0F;
    run.gradients.assign(100, run.gradients[0]);
    EXPECT_EQ(train_alone(run).back().averages, run.start) << decay;
  }
}

TEST(Updater, RefusesAStepWhoseNormIsNotFinite) {
  Scenario run = large({.clip_grad = 1.0});
  run.gradients[1][5] = std::numeric_limits<float>::infinity();
  run.gradients.resize(2);
  const std::vector<Arenas> after = train_alone(run);
  EXPECT_EQ(after[1], after[0]);
}

}  // namespace
}  // namespace lockstep
