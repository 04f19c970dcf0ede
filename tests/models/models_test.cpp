#include "lockstep/models.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

#include "support/expect_error.h"

namespace lockstep {
namespace {

constexpr Shape imagenet = {3, 224, 224};

/// Parameter counts of models that torchvision lacks. The other models are compared with their state dicts.
TEST(Parameters, AreAsManyAsPublished) {
  const struct {
    const char* model;
    Shape input;
    std::size_t values;
  } rows[] = {{"lenet", {1, 28, 28}, 129068},
              {"mlp", {1, 28, 28}, 203530},
              {"mlp:64,32", {1, 28, 28}, 785 * 64 + 65 * 32 + 33 * 10},
              {"resnet20", {3, 32, 32}, 272474}};
  for (const auto& row : rows) {
    const auto network = make_model(row.model, row.input, 10);
    std::size_t values = 0;
    for (const Parameter& parameter : network->parameters()) {
      if (parameter.trained()) values += parameter.size();
    }
    EXPECT_EQ(values, row.values) << row.model;
  }
}

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

TEST(ModelInput, OfTheLeastSizeIsTakenAndOnePixelLessIsNot) {
  const std::map<std::string, int> large = {{"alexnet", 63}, {"lenet", 14},    {"vgg11", 32},
                                            {"vgg16", 32},   {"vgg11-bn", 32}, {"vgg16-bn", 32}};
  for (const std::string& model : model_names()) {
    const int least = large.contains(model) ? large.at(model) : 1;
    EXPECT_EQ(make_model(model, {3, least, least}, 5)->classes(), 5) << model;
    if (least == 1) continue;
    const std::string refusal = "model " + model + " takes images of at least " + std::to_string(least);
    for (const Shape smaller : {Shape{3, least, least - 1}, Shape{3, least - 1, least}}) {
      expect_error(Category::usage, {refusal}, [&, name = model] { make_model(name, smaller, 5); });
    }
  }
}

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
