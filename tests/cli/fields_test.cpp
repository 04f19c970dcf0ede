// Each member of an options struct has a description, and --help shows it.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <set>

#include "cli/train/train_options.h"
#include "support/text.h"

namespace lockstep {
namespace {

/// Value that converts to a member of any type.
struct AnyMember {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor): never called
};

/// Number of members of an aggregate.
template <class Aggregate, class... Found>
consteval int members(Found... found) {
  if constexpr (requires { Aggregate{found..., AnyMember{}}; }) {
    return members<Aggregate>(found..., AnyMember{});
  } else {
    return sizeof...(Found);
  }
}

template <class Options>
int visits(Options options = {}) {
  int count = 0;
  visit(options, [&](auto&, const Field&) { ++count; });
  return count;
}

TEST(Fields, DescribeEachMemberOnce) {
  EXPECT_EQ(visits<OptimizerOptions>(), members<OptimizerOptions>());
  EXPECT_EQ(visits<ScheduleOptions>(), members<ScheduleOptions>());
  EXPECT_EQ(visits<AugmentOptions>(), members<AugmentOptions>());
  EXPECT_EQ(visits<InputOptions>(), members<InputOptions>());
  EXPECT_EQ(visits<ExecutionOptions>(), members<ExecutionOptions>());
  EXPECT_EQ(visits<DatasetOptions>(), members<DatasetOptions>());
  EXPECT_EQ(visits<BatchOptions>(), members<BatchOptions>());
  EXPECT_EQ(visits<LoadOptions>(), members<LoadOptions>());
  EXPECT_EQ(visits<OutputOptions>(), members<OutputOptions>());
  EXPECT_EQ(visits<CheckpointOptions>(), members<CheckpointOptions>());
  const int in_trainer = visits<OptimizerOptions>() + visits<ScheduleOptions>() + visits<AugmentOptions>() +
                         visits<InputOptions>() + visits<ExecutionOptions>() + visits<BatchOptions>();
  EXPECT_EQ(visits<TrainerOptions>() - in_trainer, members<TrainerOptions>() - 6);
  const int in_train = visits<ModelOptions>() + visits<DatasetOptions>() + visits<LoadOptions>() +
                       visits<TrainerOptions>() + visits<OutputOptions>() + visits<CheckpointOptions>();
  EXPECT_EQ(visits<TrainOptions>() - in_train, members<TrainOptions>() - 6);
}

TEST(Fields, HaveNamesOfTheirOwnAndNeedOptionsThatExist) {
  std::set<std::string> names;
  const TrainOptions options;
  visit(options, [&](const auto&, const Field& field) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    EXPECT_STRNE(field.help, "") << field.name;
  });
  visit(options, [&](const auto&, const Field& field) {
    for (const Requirement& requirement : field.needs) {
      EXPECT_TRUE(names.contains(requirement.option)) << field.name << ": " << requirement.option;
    }
  });
}

TEST(Fields, HelpShowsConditionRangeAndChoices) {
  TrainOptions options;
  const std::string help = fmt::format("{}", fmt::join(test::words(train_option_set(options).help()), " "));
  for (const char* part :
       {"--momentum X with --optimizer sgd|lars: momentum factor (at least 0, below 1) [0]",
        "--hang-limit TIME with --watchdog on: time for which", "(1 to 16777216) [256]",
        "--simd NAME CPU: ", "--shares measured|equal CPU: ", "--cuda-graph on|off CUDA: ",
        "run; one of constant, cosine, multistep, onecycle, polynomial, step [constant]"}) {
    test::expect_holds(help, part);
  }
}

TEST(Fields, AreGroupedByTaskInHelpAfterThreeExamples) {
  TrainOptions options;
  const std::string help = train_option_set(options).help();
  std::size_t last = help.find("\nExamples:\n");
  for (const char* heading : {"Model", "Data", "Augmentation", "Training", "Learning rate", "Optimizer",
                              "Execution", "Output", "Other"}) {
    const std::string line = std::string("\n") + heading + ":\n";
    const std::size_t found = help.find(line);
    ASSERT_NE(found, std::string::npos) << heading;
    EXPECT_GT(found, last) << heading;
    EXPECT_EQ(found, help.rfind(line)) << heading;
    last = found;
  }
}

}  // namespace
}  // namespace lockstep
