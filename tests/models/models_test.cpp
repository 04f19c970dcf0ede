#include "lockstep/models.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "support/expect_error.h"

namespace lockstep {
namespace {

constexpr Shape imagenet = {3, 224, 224};

struct Row {
  std::string model;
  Shape input;
  int classes;
  std::size_t parameters;  ///< number of trained values
};

std::string test_name(const std::string& model) {
  std::string name = model;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

class Count : public ::testing::TestWithParam<Row> {};

TEST_P(Count, IsThePublishedOne) {
  const auto network = make_model(GetParam().model, GetParam().input, GetParam().classes);
  std::size_t count = 0;
  for (const Parameter& parameter : network->parameters()) {
    count += parameter.trained() ? parameter.size() : 0;
  }
  EXPECT_EQ(count, GetParam().parameters);
  EXPECT_EQ(network->classes(), GetParam().classes);
}

INSTANTIATE_TEST_SUITE_P(
    Models, Count,
    ::testing::Values(Row{"alexnet", imagenet, 1000, 61100840}, Row{"lenet", {1, 28, 28}, 10, 129068},
                      Row{"mlp", {1, 28, 28}, 10, 203530},
                      Row{"mlp:64,32", {1, 28, 28}, 10, 785 * 64 + 65 * 32 + 33 * 10},
                      Row{"mobilenet-v2", imagenet, 1000, 3504872}, Row{"resnet18", imagenet, 1000, 11689512},
                      Row{"resnet18-d2l", {1, 28, 28}, 10, 11175818},
                      Row{"resnet20", {3, 32, 32}, 10, 272474}, Row{"resnet34", imagenet, 1000, 21797672},
                      Row{"resnet50", imagenet, 1000, 25557032}, Row{"vgg11", imagenet, 1000, 132863336},
                      Row{"vgg11-bn", imagenet, 1000, 132868840}, Row{"vgg16", imagenet, 1000, 138357544},
                      Row{"vgg16-bn", imagenet, 1000, 138365992}),
    [](const auto& row) { return test_name(row.param.model); });

/// Parameters of a network as names and extents: "conv1.weight[20x1x3x3]".
std::set<std::string> described(const Network& network) {
  std::set<std::string> parameters;
  for (const Parameter& parameter : network.parameters()) {
    parameters.insert(fmt::format("{}[{}]", parameter.name, fmt::join(parameter.shape, "x")));
  }
  return parameters;
}

/// Parameters by model, written by bench/peers/make_model_references.py.
std::map<std::string, std::set<std::string>> stored_parameters() {
  std::map<std::string, std::set<std::string>> models;
  std::ifstream file(LOCKSTEP_TEST_DATA "/models/parameters.txt");
  std::string model;
  for (std::string word; file >> word;) {
    if (word.ends_with(']')) {
      models[model].insert(word);
    } else {
      model = word;
    }
  }
  return models;
}

TEST(Parameters, AreThoseOfTheStateDict) {
  const auto stored = stored_parameters();
  ASSERT_EQ(stored.size(), 10U);
  for (const auto& [model, parameters] : stored) {
    const bool small = model == "resnet18-d2l";
    const auto network = make_model(model, small ? Shape{1, 28, 28} : imagenet, small ? 10 : 1000);
    EXPECT_EQ(described(*network), parameters) << model;
  }
}

struct Size {
  std::string model;
  int least;
};

class SmallestInput : public ::testing::TestWithParam<Size> {};

TEST_P(SmallestInput, IsTakenAndOnePixelLessIsNot) {
  const auto& model = GetParam().model;
  const int least = GetParam().least;
  EXPECT_EQ(make_model(model, {3, least, least}, 5)->classes(), 5);
  if (least > 1) {
    const std::string wanted = "model " + model + " takes images of at least " + std::to_string(least);
    expect_error(Category::usage, {wanted, "pixels, not " + std::to_string(least)}, [&] {
      make_model(model, {3, least, least - 1}, 5);
    });
    expect_error(Category::usage, {wanted}, [&] { make_model(model, {3, least - 1, least}, 5); });
  }
}

INSTANTIATE_TEST_SUITE_P(Models, SmallestInput,
                         ::testing::Values(Size{"alexnet", 63}, Size{"lenet", 14}, Size{"mlp", 1},
                                           Size{"mobilenet-v2", 1}, Size{"resnet18", 1},
                                           Size{"resnet18-d2l", 1}, Size{"resnet20", 1}, Size{"resnet34", 1},
                                           Size{"resnet50", 1}, Size{"vgg11", 32}, Size{"vgg11-bn", 32},
                                           Size{"vgg16", 32}, Size{"vgg16-bn", 32}),
                         [](const auto& row) { return test_name(row.param.model); });

TEST(ModelInput, TablesAreForMlp) {
  expect_error(Category::usage,
               {"model lenet takes images of at least 14x14 pixels, not 1x1: model mlp takes tables"}, [] {
                 make_model("lenet", {4, 1, 1}, 3);
               });
}

TEST(ModelName, MistakesAreExplained) {
  const auto refuse = [](const std::string& name, const std::vector<std::string>& parts) {
    expect_error(Category::usage, parts, [&] { check_model_name(name); });
  };
  refuse("resnet-18", {"unknown model 'resnet-18'", "did you mean 'resnet18'"});
  refuse("", {"unknown model ''", "known: alexnet", "vgg16-bn"});
  for (const char* name :
       {"mlp:", "mlp:0", "mlp:8,", "mlp:8,,8", "mlp:-8", "mlp:8 ", "mlp:9999999", "mlp:8;8"}) {
    refuse(name, {std::string("model '") + name + "'", "as in mlp:256,128"});
  }
  for (const std::string& name : model_names()) {
    check_model_name(name);
  }
  check_model_name("mlp:1");
}

}  // namespace
}  // namespace lockstep
