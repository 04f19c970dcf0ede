#include "data/sets/subset.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "data/sets/parts.h"
#include "support/expect_error.h"
#include "support/tables.h"

namespace lockstep {
namespace {

/// Data set of `rows` samples named after their lines, with `fraction` of them held out for validation.
DatasetPair open(int rows, double fraction) {
  std::string text = "x,label\n";
  for (int row = 0; row < rows; ++row) text += fmt::format("{},{}\n", row, row % 2 == 0 ? "even" : "odd");
  DatasetPair pair = csv_datasets(text, text);
  if (fraction > 0.0) hold_out_validation(pair, fraction);
  return pair;
}

std::set<std::string> names(const Dataset& dataset) {
  std::set<std::string> names;
  for (std::uint64_t id = 0; id < dataset.size(); ++id) names.insert(dataset.sample_name(id));
  return names;
}

TEST(HoldOutValidation, DividesTheTrainingSamples) {
  const DatasetPair pair = open(1000, 0.25);
  EXPECT_EQ(pair.validation->size(), 250U);
  EXPECT_EQ(pair.train->size(), 750U);
  EXPECT_EQ(pair.test->size(), 1000U);
  std::set<std::string> both = names(*pair.train);
  EXPECT_EQ(both.size(), 750U);
  both.merge(names(*pair.validation));
  EXPECT_EQ(both, names(*pair.whole));
}

TEST(HoldOutValidation, TakesTheSameShareOfEachClass) {
  const DatasetPair pair = open(90, 0.2);
  int even = 0;
  for (std::uint64_t id = 0; id < pair.validation->size(); ++id) {
    even += pair.validation->label(id) == 0 ? 1 : 0;
  }
  EXPECT_EQ(pair.validation->size(), 18U);
  EXPECT_EQ(even, 9);
}

TEST(HoldOutValidation, TakesSamplesFromEverywhereAndAlwaysTheSame) {
  const std::set<std::string> held_out = names(*open(1000, 0.25).validation);
  EXPECT_EQ(names(*open(1000, 0.25).validation), held_out);
  const std::set<std::string> more = names(*open(1000, 0.5).validation);
  EXPECT_TRUE(std::includes(more.begin(), more.end(), held_out.begin(), held_out.end()));
  int first_half = 0;
  for (const std::string& name : held_out)
    first_half += std::stoi(name.substr(name.rfind(' '))) < 500 ? 1 : 0;
  EXPECT_NEAR(first_half, 125, 30);
}

TEST(HoldOutValidation, SamplesKeepTheirContentsAndLabels) {
  const DatasetPair pair = open(100, 0.1);
  std::vector<std::uint8_t> buffer;
  for (const Dataset* part : {pair.train.get(), pair.validation.get()}) {
    EXPECT_EQ(part->class_names(), pair.whole->class_names());
    EXPECT_EQ(part->shape(), pair.whole->shape());
    EXPECT_EQ(part->encoding(), Encoding::floats);
    for (std::uint64_t id = 0; id < part->size(); ++id) {
      const std::string name = part->sample_name(id);
      const auto row = static_cast<std::uint64_t>(std::stoi(name.substr(name.rfind(' '))) - 2);
      EXPECT_EQ(part->label(id), pair.whole->label(row));
      const auto expected = pair.whole->sample(row, buffer);
      EXPECT_TRUE(std::ranges::equal(part->sample(id, buffer), expected));
    }
  }
}

TEST(HoldOutValidation, FingerprintsOfThePartsDiffer) {
  const std::set<std::string> prints = {
      open(100, 0.0).train->fingerprint(), open(100, 0.1).train->fingerprint(),
      open(100, 0.2).train->fingerprint(), open(100, 0.5).train->fingerprint(),
      open(100, 0.5).validation->fingerprint()};
  EXPECT_EQ(prints.size(), 5U);
}

TEST(HoldOutValidation, NeedsSamplesForBothParts) {
  expect_error(Category::data,
               {"a validation fraction of 0.04 of 10 training samples leaves none to validate"},
               [] { open(10, 0.04); });
}

TEST(CompleteParts, ValidationSamplesTestIfThereAreNoOthers) {
  const auto complete = [](bool has_test, double validation_fraction) {
    const std::string text = "x,label\n1,a\n2,b\n3,a\n4,b\n";
    DatasetPair pair = csv_datasets(text, text), other = csv_datasets(text, text);
    pair.validation = std::move(other.test);
    pair.validation_origin = "DIR/val.csv";
    if (!has_test) pair.test = nullptr;
    complete_parts(pair, {.validation_fraction = validation_fraction}, DataUse::training);
    return pair;
  };
  const DatasetPair both = complete(true, 0.0);
  EXPECT_TRUE(both.validation && both.test && !both.tests_on_validation);
  EXPECT_EQ(both.validation_origin, "DIR/val.csv");
  const DatasetPair one = complete(false, 0.0);
  EXPECT_TRUE(!one.validation && one.test && one.tests_on_validation);
  EXPECT_EQ(one.test_origin, "DIR/val.csv");
  EXPECT_EQ(one.validation_origin, "");
  for (const bool has_test : {false, true}) {
    expect_error(Category::usage, {"validation-fraction: has no effect, as DIR/val.csv exists: omit it"},
                 [&] { complete(has_test, 0.5); });
  }
}

}  // namespace
}  // namespace lockstep
