#include "core/json/json.h"

#include <gtest/gtest.h>

#include "core/json/members.h"
#include "support/expect_error.h"

namespace lockstep {
namespace {

struct Inner {
  std::string text{};
  std::vector<int> numbers{};
  bool operator==(const Inner&) const = default;
};

template <OptionsOf<Inner> O, class Visitor>
void visit(O& inner, Visitor&& field) {
  auto& [text, numbers] = inner;
  field(text, {.name = "text"});
  field(numbers, {.name = "numbers"});
}

struct Outer {
  std::uint8_t byte = 0;
  Inner inner{};
  Facts facts{};
  bool operator==(const Outer&) const = default;
};

template <OptionsOf<Outer> O, class Visitor>
void visit(O& outer, Visitor&& field) {
  auto& [byte, inner, facts] = outer;
  field(byte, {.name = "byte"});
  field(inner, {.name = "inner"});
  field(facts, {.name = "facts"});
}

Outer read(const std::string& text) {
  const JsonDocument document(text, {.file = "f"});
  Outer outer;
  document.read(document.root(), outer);
  return outer;
}

struct Refused {
  std::string text, message;
};

void expect_refused(const std::vector<Refused>& cases) {
  for (const auto& [text, message] : cases) {
    SCOPED_TRACE(text.substr(0, 100));
    expect_error(Category::data, {message}, [&text = text] { read(text); });
  }
}

TEST(Json, DescribedStructsAreWrittenAndRead) {
  const Outer outer{.byte = 255, .inner = {"\u00fc\n\"", {0, 7}}, .facts = {{"z", "\xff"}, {"a", ""}}};
  const std::string text =
      R"({"byte":255,"inner":{"text":"ü\n\"","numbers":[0,7]},"facts":{"z":[255],"a":""}})";
  EXPECT_EQ(json_of(outer).dump(), text);
  EXPECT_EQ(read(text), outer);
}

TEST(Json, MessagesKeepTextsThatAreNotUtf8) {
  const Inner inner{.text = "caf\xe9\n", .numbers = {7}};
  const std::string message = json_message(json_of(inner));
  EXPECT_EQ(message, R"({"text":[99,97,102,233,10],"numbers":[7]})");
  const JsonDocument document(message, {.file = "f", .is_message = true});
  Inner found;
  document.read(document.root(), found);
  EXPECT_EQ(found, inner);
  EXPECT_EQ(json_message(JsonValue("\u00fc")), R"("\u00fc")");
}

struct Measure {
  double number = 0.0;
  bool choice = false;
  bool operator==(const Measure&) const = default;
};
LOCKSTEP_MEMBERS(Measure, number, choice)

TEST(Json, RealNumbersAreExact) {
  const auto measure = [](const std::string& text) {
    const JsonDocument document(text, {.file = "f"});
    Measure result;
    document.read(document.root(), result);
    return result;
  };
  for (const double number : {0.0, 1.0 / 3.0, -5e-324, 1.7976931348623157e308, 123456789012345678.0}) {
    const Measure written{.number = number, .choice = number > 0.0};
    EXPECT_EQ(measure(json_of(written).dump()), written) << number;
  }
  EXPECT_EQ(measure(R"({"number":-3,"choice":true})"), (Measure{-3.0, true}));
  expect_error(Category::data, {"f:1: number: must be a number"},
               [&] { measure(R"({"number":"1","choice":true})"); });
  expect_error(Category::data, {"f:1: choice: must be true or false"},
               [&] { measure(R"({"number":1,"choice":1})"); });
}

TEST(Json, ErrorsNameLineAndPath) {
  const std::string inner = R"("inner":{"text":"","numbers":[]})", facts = R"("facts":{})";
  expect_refused({{"{\n\"byte\":\n\n256}", "f:2: byte: must be a whole number from 0 to 255"},
                  {"{\"byte\":1,\n\"inner\":{\"text\":\"\",\n\"numbers\":[1,\n-1]}," + facts + "}",
                   "f:4: inner.numbers[1]: must be a whole number from 0 to 2147483647"},
                  {"{\"byte\":1,\n\"inner\":[]}", "f:2: inner: must be an object"},
                  {"{\"byte\":1,\n\"inner\":{}}", "f:2: inner: text is missing"},
                  {R"({"byte":1,"inner":{"text":5}})", "f:1: inner.text: must be a text"},
                  {R"({"byte":1,"inner":{"text":"","numbers":5}})", "f:1: inner.numbers: must be a list"},
                  {"{\"byte\":1," + inner + ",\"facts\":\"\"}", "f:1: facts: must be an object"},
                  {"{\"byte\":1," + inner + "," + facts + ",\n\"c\":[]}", "f:2: c: unknown key"},
                  {"[]", "f:1: must be an object"}});
  for (const std::string value : {"-1", "1.5", "18446744073709551616", "null", "true", "\"1\"", "{}", "[]"}) {
    expect_refused({{"{\"byte\":" + value + "}", "f:1: byte: must be a whole number from 0 to 255"}});
  }
  for (const std::string value : {"1", "{}", "null"}) {
    expect_refused(
        {{"{\"byte\":1," + inner + ",\"facts\":{\"a\":" + value + "}}", "f:1: facts.a: must be a text"}});
  }
  for (const std::string byte : {"[]", "\"b\"", "256", "-1"}) {
    expect_refused({{"{\"byte\":1," + inner + ",\"facts\":{\"a\":[7," + byte + "]}}",
                     "f:1: facts.a[1]: must be a whole number from 0 to 255"}});
  }
}

TEST(Json, TextsThatAreRefused) {
  std::string zeros = "[0";
  for (int i = 0; i < 4 << 20; ++i) zeros += ",0";
  expect_refused({{"", "f:1: not valid JSON: the text ends too early"},
                  {"{\n\"a\": b}", "f:2: not valid JSON: unexpected 'b'"},
                  {"{}x", "f:1: not valid JSON: unexpected 'x'"},
                  {"{\"\xff\":{}}", "f:1: not valid JSON"},
                  {"{\"a\":1e999}", "f:1: not valid JSON"},
                  {"{\"a\": \"\n\"}", "f:1: not valid JSON: unexpected end of the line"},
                  {"{\"a\": [{\"b\": 1,\n\"b\": 2,\n\"c\": 3}]}", "f:2: a[0].b: key occurs twice"},
                  {"{\"a\nb\u001b\":1,\"a\nb\u001b\":1}", "f:1: not valid JSON"},
                  {R"({"a\nb\u001b":1,"a\nb\u001b":1})", "f:1: a?b?: key occurs twice"},
                  {"[0," + std::string(250000, '['), "f:1: [1][0][0]"},
                  {std::string(33, '['), ": nested more than 32 deep"},
                  {zeros + "]", "f:1: the text has more than 4194304 values"}});
}

TEST(Json, TextsInsideABinaryFileHaveBytesInsteadOfLines) {
  const JsonSource source{.file = "f", .category = Category::usage, .first_byte = 8};
  expect_error(Category::usage, {"f: not valid JSON at byte 10"}, [&] { JsonDocument("{}x", source); });
  const JsonDocument document("{\"a\":[1]}", source);
  expect_error(Category::usage, {"f: a[0]: even"}, [&] { document.refuse(document.root()["a"][0], "even"); });
  expect_error(Category::usage, {"f: even"}, [&] { document.refuse_line(document.root()["a"][0], "even"); });
}

}  // namespace
}  // namespace lockstep
