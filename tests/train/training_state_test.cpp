#include "train/training_state.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "train/phases.h"

namespace lockstep {
namespace {

using test::augmented;
using test::options;
using test::Phases;
using test::world;

std::vector<std::string> names_of(const TrainingState& state) {
  std::vector<std::string> names;
  for (const NamedArena& arena : state.arenas()) names.push_back(arena.name);
  return names;
}

TEST(TrainingState, NamesItsArenas) {
  TrainerOptions chosen = options();
  using Names = std::vector<std::string>;
  EXPECT_EQ(names_of(Phases(world(), chosen).state), (Names{"parameters", "optimizer.momentum"}));
  chosen.optimizer = {};
  EXPECT_EQ(names_of(Phases(world(), chosen).state), Names{"parameters"});
  chosen.optimizer = {.name = "adamw"};
  chosen.model_ema = true;
  chosen.model_ema_decay = 0.9;
  const Phases phases(world(), chosen);
  EXPECT_EQ(names_of(phases.state),
            (Names{"parameters", "average", "optimizer.exp_avg", "optimizer.exp_avg_sq"}));
  for (const NamedArena& arena : phases.state.arenas()) {  // a single rank owns all elements
    EXPECT_EQ(arena.first, 0U) << arena.name;
    EXPECT_EQ(arena.last, phases.run.layout.elements) << arena.name;
    EXPECT_EQ(arena.values().size(), phases.run.layout.elements) << arena.name;
  }
  EXPECT_EQ(phases.state.results().data(), phases.state.arenas()[1].values().data());
}

TEST(TrainingState, IsHashedWithItsAverages) {
  TrainerOptions chosen = options();
  chosen.model_ema = true;
  chosen.model_ema_decay = 0.9;
  const Phases phases(world(), chosen);
  const auto all = phases.state.hash(), parameters = phases.state.parameter_hash();
  phases.state.results()[5] += 1.0F;
  EXPECT_NE(phases.state.hash(), all);
  EXPECT_EQ(phases.state.parameter_hash(), parameters);
}

/// A step that is abandoned between two of its parts changes nothing, however it is divided.
TEST(TrainingSteps, AreAbandonedAndRepeatedWithoutATrace) {
  for (const int threads : {1, 3}) {
    TrainerOptions chosen = augmented(options());
    chosen.optimizer.clip_grad = 0.1;
    chosen.execution.threads = threads;
    Phases whole(world(), chosen);
    for (std::uint64_t step = 0; step < 5; ++step) whole.steps.run_while(step, 1, 1, nullptr);
    for (const std::uint64_t rounds : {2U, 8U, 16U}) {
      Phases parts(world(), chosen);
      for (std::uint64_t step = 0; step < 5; ++step) {
        for (const std::uint64_t last : {std::uint64_t{0}, rounds / 2 - 1, rounds - 2}) {
          std::uint64_t asked = 0;
          EXPECT_FALSE(parts.steps.run_while(step, 1, rounds, [&] { return asked++ < last; }).has_value());
          EXPECT_EQ(asked, last + 1);
        }
        const VisitSum before = parts.steps.visits();
        std::uint64_t asked = 0;
        const auto times = parts.steps.run_while(step, 1, rounds, [&] { return ++asked > 0; });
        ASSERT_TRUE(times.has_value());
        EXPECT_EQ(asked, rounds - 1);  // once between consecutive parts
        EXPECT_EQ(times->samples, step < 4 ? 64U : 300U - 4 * 64);
        EXPECT_GT(times->backward, 0.0);
        EXPECT_NE(parts.steps.visits(), before);
      }
      EXPECT_EQ(parts.state.digest(), whole.state.digest()) << rounds << " rounds, " << threads << " threads";
      for (std::size_t i = 0; i < parts.state.arenas().size(); ++i) {
        EXPECT_TRUE(std::ranges::equal(parts.state.arenas()[i].values(), whole.state.arenas()[i].values()));
      }
      EXPECT_EQ(parts.steps.outcomes()[0].loss, whole.steps.outcomes()[0].loss);
    }
  }
}

}  // namespace
}  // namespace lockstep
