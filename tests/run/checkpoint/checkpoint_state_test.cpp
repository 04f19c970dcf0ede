#include "run/checkpoint/checkpoint_state.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace lockstep {
namespace {

const std::string empty_state = R"({"format":1,"step":0,"epoch":0,"progress":{},"options":{},"identity":{},)"
                                R"("fingerprint":{},"engines":""})";

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

/// All other invalid input is refused by core/json.
TEST(CheckpointState, OtherFormatsAreRefused) {
  const auto expect_bad = [](const std::string& json, const std::string& message) {
    expect_error(Category::data, {message}, [&] { parse_state(json, "state.json"); });
  };
  expect_bad("[]", "state.json:1: must be an object");
  expect_bad("{}", "state.json:1: format is missing");
  expect_bad("{\"format\":0}", "state.json:1: format: is 0; this version of lockstep reads format 1");
  expect_bad("{\"format\":2}", "state.json: made by a newer lockstep: its format is 2");
}

}  // namespace
}  // namespace lockstep
