#include "checkpoint/checkpoint_state.h"

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
  expect_error(Category::data, {"state.json: ", part}, [&] { parse_state(json, "state.json"); });
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
  expect_error(Category::internal, {"state.json: name 'lr' occurs twice"}, [] {
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
  expect_bad(with("epoch", "2147483648"), "'epoch': unexpected number");
  expect_bad(with("step", "-1"), "'step': negative number");
  expect_bad(with("step", "1.5"), "'step': number that is not whole");
  expect_bad(with("step", "18446744073709551616"), "'step': number that is not whole");
  expect_bad(with("step", "null"), "'step': unexpected null");
  expect_bad(with("step", "true"), "'step': unexpected true or false");
  expect_bad(with("step", "\"1\""), "'step': unexpected text");
  expect_bad(with("step", "{}"), "'step': unexpected object");
  expect_bad(with("step", "[]"), "'step': unexpected list");
  expect_bad(with("format", "2"), "'format': format 2; this version of lockstep reads format 1");
}

TEST(CheckpointState, OtherSchemas) {
  expect_bad("", "no JSON object at byte 0");
  expect_bad("[]", "no JSON object at byte 0");
  expect_bad("{", "not valid JSON at byte ");
  expect_bad("{}", "'format' is missing");
  expect_bad(replaced(empty_state, R"(,"engines":"")", ""), "'engines' is missing");
  expect_bad(replaced(empty_state, R"("identity":{},)", ""), "'identity' is missing");
  expect_bad(replaced(empty_state, R"("step":0)", R"("step":0,"step":0)"), "'step': occurs twice");
  expect_bad(replaced(empty_state, R"("step":0)", R"("step":0,"other":0)"), "'other': unexpected number");
  expect_bad(replaced(empty_state, R"("step":0)", R"("step":0,"other":{})"), "'other': unexpected object");
  const auto with_options = [](const std::string& json) {
    return replaced(empty_state, R"("options":{})", R"("options":)" + json);
  };
  expect_bad(with_options(R"("")"), "'options': unexpected text");
  expect_bad(with_options("1"), "'options': unexpected number");
  expect_bad(with_options(R"({"a":1})"), "'options': number where a text belongs");
  expect_bad(with_options(R"({"a":{}})"), "'options': unexpected object");
  expect_bad(with_options(R"({"a":[[]]})"), "'options': unexpected list");
  expect_bad(with_options(R"({"a":["b"]})"), "'options': unexpected text");
  expect_bad(with_options(R"({"a":[256]})"), "'options': byte out of range");
  expect_bad(with_options(R"({"a":"1","a":"2"})"), "'options': name 'a' occurs twice");
  expect_bad(empty_state + "x", "not valid JSON at byte ");
}

}  // namespace
}  // namespace lockstep
