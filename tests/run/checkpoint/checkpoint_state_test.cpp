#include "run/checkpoint/checkpoint_state.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace lockstep {
namespace {

const std::string empty_state = R"({"format":1,"step":0,"epoch":0,"progress":{},"options":{},"identity":{},)"
                                R"("fingerprint":{},"engines":""})";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return text.replace(place, from.size(), to);
}

void expect_bad(const std::string& json, const std::string& part) {
  expect_error(Category::data, {"state.json", part}, [&] { parse_state(json, "state.json"); });
}

TEST(CheckpointState, RoundTripKeepsTextsAndTheirOrder) {
  const CheckpointState state{.step = UINT64_MAX,
                              .epoch = 7,
                              .progress = {{"loss", "0.30000000000000004"}, {"best", "-inf"}},
                              .options = {{"z", "1"}, {"a", ""}, {"quote \" \\ \n", "\u00fc \" \\ \n"}},
                              .identity = {{"data", std::string("a\0b", 3)}},
                              .fingerprint = {},
                              .engines = R"({"plans":["x"]})"};
  EXPECT_EQ(parse_state(state_json(state), "state.json"), state);
  EXPECT_EQ(parse_state(state_json({}), "state.json"), CheckpointState{});
  EXPECT_EQ(parse_state(empty_state, "state.json"), CheckpointState{});
}

TEST(CheckpointState, TextsMayHoldAnyBytes) {
  CheckpointState state;
  state.options = {{"model", "r\xe9seau.json"}, {"one", "\xff"}, {"lr", "0.1"}};
  EXPECT_EQ(parse_state(state_json(state), "state.json"), state);
}

TEST(CheckpointState, ImpossibleNamesAreNotWritten) {
  expect_error(Category::internal, {"name 'lr' occurs twice"}, [] {
    state_json({.options = {{"lr", "1"}, {"lr", "2"}}});
  });
  expect_error(Category::internal, {"state.json: "}, [] { state_json({.options = {{"\xff", "1"}}}); });
}

TEST(CheckpointState, NumbersOutOfRange) {
  const auto with = [](const std::string& field, const std::string& value) {
    return replaced(empty_state, fmt::format("\"{}\":{}", field, field == "format" ? 1 : 0),
                    fmt::format("\"{}\":{}", field, value));
  };
  EXPECT_EQ(parse_state(with("epoch", "2147483647"), "state.json").epoch, 2147483647);
  expect_bad(with("epoch", "2147483648"), ":1: epoch: must be a whole number from 0 to 2147483647");
  for (const char* value : {"-1", "1.5", "18446744073709551616", "null", "true", "\"1\"", "{}", "[]"}) {
    expect_bad(with("step", value), ":1: step: must be a whole number from 0 to 18446744073709551615");
  }
  expect_bad(with("format", "2"), ":1: format: is 2; this version of lockstep reads format 1");
}

TEST(CheckpointState, OtherSchemas) {
  expect_bad("", ":1: not valid JSON: the text ends too early");
  expect_bad("[]", ":1: must be an object");
  expect_bad("{", ":1: not valid JSON: the text ends too early");
  expect_bad("{}", ":1: format is missing");
  expect_bad(replaced(empty_state, R"(,"engines":"")", ""), ":1: engines is missing");
  expect_bad(replaced(empty_state, R"("identity":{},)", ""), ":1: identity is missing");
  expect_bad(replaced(empty_state, R"("step":0)", R"("step":0,"step":0)"), ":1: step: key occurs twice");
  expect_bad(replaced(empty_state, R"("step":0)", "\"step\":0,\n\"other\":0"), ":2: other: unknown key");
  const auto with_options = [](const std::string& json) {
    return replaced(empty_state, R"("options":{})", R"("options":)" + json);
  };
  expect_bad(with_options(R"("")"), ":1: options: must be an object");
  for (const char* value : {"1", "{}", "null"}) {
    expect_bad(with_options(fmt::format(R"({{"a":{}}})", value)), ":1: options.a: must be a text");
  }
  for (const char* byte : {"[]", "\"b\"", "256", "-1"}) {
    expect_bad(with_options(fmt::format(R"({{"a":[7,{}]}})", byte)),
               ":1: options.a[1]: must be a whole number from 0 to 255");
  }
  expect_bad(with_options(R"({"a":"1","a":"2"})"), ":1: options.a: key occurs twice");
  expect_bad(empty_state + "x", ":1: not valid JSON: unexpected 'x'");
}

}  // namespace
}  // namespace lockstep
