#include "graph/operations.h"

#include <gtest/gtest.h>

#include <set>

#include "graph/summary.h"
#include "support/expect_error.h"

namespace lockstep {
namespace {

constexpr Shape image = {4, 8, 8};

std::unique_ptr<Network> with_layer(const Operation& operation) {
  auto network = std::make_unique<Network>(image);
  const std::vector<Value> inputs(inputs_of(operation).min, network->input());
  network->output(flatten(network->add(operation, inputs)));
  return network;
}

/// Changes an option to another valid value.
struct ChangeField {
  void operator()(int& value, const OperationField&) const { value = value == 1 ? 2 : 1; }
  void operator()(double& value, const OperationField&) const { value /= 2; }
  void operator()(bool& value, const OperationField&) const { value = !value; }
  void operator()(Initializer& value, const OperationField&) const { value = Initializer::normal(0.5); }
};

std::size_t count_fields(const Operation& operation) { return field_texts(operation).size(); }

/// Sets required options of a default operation.
Operation completed(Operation operation) {
  visit_fields(operation, [](auto& value, const OperationField& field) {
    if constexpr (std::is_same_v<decltype(value), int&>) {
      if (field.required) value = 4;
    }
  });
  return operation;
}

TEST(Operations, HaveEachANameOfTheirOwn) {
  std::set<std::string> names, prefixes;
  for (const Operation& operation : operations_of_files()) {
    EXPECT_TRUE(names.insert(name_of(operation)).second) << name_of(operation);
    EXPECT_TRUE(prefixes.insert(prefix_of(operation)).second) << prefix_of(operation);
  }
  EXPECT_EQ(names.count("input"), 0U);
}

TEST(Operations, DescribeEveryOptionOnce) {
  EXPECT_EQ(count_fields(Conv2d{}), 8U);  // all options except the name
  EXPECT_EQ(count_fields(Linear{}), 3U);
  EXPECT_EQ(count_fields(AvgPool2d{}), 5U);
  for (const Operation& operation : operations_of_files()) {
    std::set<std::string> names;
    for (const FieldText& text : field_texts(operation)) {
      EXPECT_TRUE(names.insert(text.field.name).second) << name_of(operation) << " " << text.field.name;
    }
  }
}

TEST(Fingerprint, IsOfEveryOptionOfEveryOperation) {
  for (const Operation& each : operations_of_files()) {
    if (inputs_of(each).min == 0 || name_of(each) == "linear") continue;  // linear layers accept only vectors
    const Operation operation = completed(each);
    const std::string before = fingerprint(*with_layer(operation));
    EXPECT_EQ(before, fingerprint(*with_layer(operation)));
    EXPECT_EQ(before.size(), 32U);
    for (std::size_t changed = 0; changed < count_fields(operation); ++changed) {
      Operation other = operation;
      std::size_t at = 0;
      visit_fields(other, [&](auto& value, const OperationField& field) {
        if (at++ == changed) ChangeField()(value, field);
      });
      EXPECT_NE(before, fingerprint(*with_layer(other)))
          << name_of(operation) << " " << field_texts(operation)[changed].field.name;
    }
  }
}

TEST(Fingerprint, IsOfNamesConnectionsAndOutput) {
  const auto build = [](const char* name, int reads, int output) {
    Network network({4, 1, 1});
    std::vector<Value> values{network.input()};
    values.push_back(linear(values[0], {.features = 4, .name = name}));
    values.push_back(relu(values[static_cast<std::size_t>(reads)]));
    network.output(values[static_cast<std::size_t>(output)]);
    return fingerprint(network);
  };
  EXPECT_EQ(build("a", 1, 2), build("a", 1, 2));
  EXPECT_NE(build("a", 1, 2), build("b", 1, 2));
  EXPECT_NE(build("a", 1, 2), build("a", 0, 2));
  EXPECT_NE(build("a", 1, 2), build("a", 1, 1));
}

TEST(Operations, RefuseWindowsWhoseExtentDoesNotFitAnInt) {
  Network network(image);
  const auto refuse = [&](const Conv2d& conv, const std::string& message) {
    expect_error(Category::usage, {message}, [&] { conv2d(network.input(), conv); });
  };
  refuse({.channels = 1, .kernel = 65537, .dilation = 65536},
         "layer conv1: a window of 4294967297 does not fit into 8 pixels");
  refuse({.channels = 1, .padding = 2147483647}, "layer conv1: its output of 4294967302 pixels in a row");
  refuse({.channels = 1, .kernel = 0}, "invalid window: kernel 0, stride 1, padding 0 and dilation 1");
}

}  // namespace
}  // namespace lockstep
