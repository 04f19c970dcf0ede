#include <gtest/gtest.h>

#include "core/options/check.h"
#include "support/expect_error.h"

namespace lockstep {

enum class Colour { red, light_blue };
Names choices_of(Colour) { return {"red", "light-blue"}; }

/// One option of each kind.
struct PaintOptions {
  std::string brush = "flat";
  int layers = 2;
  int coats = 1;
  int threads = 0;
  double share = 0.5;
  std::vector<double> mean = {};
  Colour colour = Colour::red;
  bool wet = false;
  bool gloss = true;
  Interval size = {0.5, 1.0};
  Shape canvas = {3, 20, 30};
  Names skipped = {};
  std::string pattern = {};
  Duration limit = {};
  Period rinse = {};

  bool operator==(const PaintOptions&) const = default;
};

template <OptionsOf<PaintOptions> O, class Visitor>
void visit(O& options, Visitor&& field) {
  auto& [brush, layers, coats, threads, share, mean, colour, wet, gloss, size, canvas, skipped, pattern,
         limit, rinse] = options;
  field(brush, {.name = "brush", .choices = [] { return Names{"flat", "round"}; }});
  field(layers, {.name = "layers",
                 .range = {.min = 1, .max = 9},
                 .scope = Scope::protocol,
                 .result_with = {{"brush", {"round"}}}});
  field(coats, {.name = "coats", .range = {.min = 1}, .by_data = "as many as are needed"});
  field(threads, {.name = "threads", .range = {.min = 1}, .scope = Scope::local, .zero = "auto"});
  field(share, {.name = "share", .range = {.below = 1}, .needs = {{"brush", {"round"}}}});
  field(mean, {.name = "mean", .by_data = "measured", .named = [] {
                 return NamedNumbers{{"mnist", {0.25}}};
               }});
  field(colour, {.name = "colour"});
  field(wet, {.name = "wet", .needs = {{"pattern"}}});
  field(gloss, {.name = "gloss", .choices = [] { return Names{"on", "off"}; }});
  field(size, {.name = "size", .range = {.above = 0, .max = 2}});
  field(canvas, {.name = "canvas"});
  field(skipped, {.name = "skip"});
  field(pattern, {.name = "pattern", .scope = Scope::file});
  field(limit, {.name = "limit", .range = {.max = 1e6}});
  field(rinse, {.name = "rinse", .range = {.min = 1}, .scope = Scope::local, .zero = "never"});
}

namespace {

/// Sets the option called `name` from text.
void set(PaintOptions& options, const std::string& name, const std::string& text) {
  bool found = false;
  visit(options, [&](auto& value, const Field& field) {
    if (name != field.name) return;
    found = true;
    from_text(text, field, value);
  });
  EXPECT_TRUE(found) << name;
}

void expect_refused(const std::string& name, const std::string& text, const Names& parts) {
  PaintOptions options;
  expect_error(Category::usage, parts, [&] { set(options, name, text); });
  EXPECT_EQ(options, PaintOptions{}) << name;
}

TEST(OptionTexts, ReadBackWhatTheyWrote) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"brush", "round"},  {"layers", "9"},      {"threads", "auto"}, {"threads", "7"},
      {"share", "0.1"},    {"mean", "1,2.5"},    {"mean", ""},        {"wet", "true"},
      {"gloss", "off"},    {"size", "0.25,2"},   {"skip", "a,b.c"},   {"colour", "light-blue"},
      {"canvas", "1x2x3"}, {"pattern", " a#b "}, {"limit", "1d2h"},   {"limit", "0.1s"},
      {"coats", "auto"},   {"coats", "3"},       {"mean", "auto"},    {"limit", "59s"},
      {"rinse", "500"},    {"rinse", "never"},   {"rinse", "3h50m"}};
  for (const auto& [name, text] : cases) {
    PaintOptions options;
    set(options, name, text);
    for (const OptionText& line : texts_of(options)) {
      EXPECT_EQ(line.value, line.field.name == std::string(name) ? text : line.default_value) << name;
    }
  }
  PaintOptions options;
  set(options, "mean", "mnist");
  EXPECT_EQ(options.mean, std::vector{0.25});
  set(options, "mean", "auto");
  EXPECT_EQ(options.mean, by_data<std::vector<double>>);
}

TEST(OptionTexts, AreRefusedWithValueAndReason) {
  expect_refused("brush", "roun", {"'roun' is not one of flat, round; did you mean round?"});
  expect_refused("layers", "0", {"'0' is out of range: 1 to 9"});
  expect_refused("layers", "1.5", {"'1.5' is not a whole number"});
  expect_refused("layers", "auto", {"'auto' is not a whole number"});
  expect_refused("coats", "-1", {"'-1' is out of range"});
  expect_refused("mean", "inf", {"unknown set of statistics 'inf'"});
  expect_refused("threads", "0", {"'0' is out of range: 1 to 2147483647"});
  expect_refused("share", "1", {"'1' is out of range: at least 0, below 1"});
  expect_refused("share", "0.99999999999", {"below 1"});  // 1 as a float
  expect_refused("share", "nan", {"out of range"});
  expect_refused("share", "0.5x", {"'0.5x' is not a number"});
  expect_refused("mean", "mnits", {"unknown set of statistics 'mnits'; did you mean 'mnist'?"});
  expect_refused("mean", "1,,2", {"'1,,2' has a comma with no number before or after it"});
  expect_refused("colour", "blue", {"'blue' is not one of red, light-blue"});
  expect_refused("wet", "maybe", {"'maybe' is neither true nor false"});
  expect_refused("gloss", "true", {"'true' is not one of on, off"});
  expect_refused("size", "1", {"'1' is not MIN,MAX with MIN <= MAX"});
  expect_refused("size", "0,1", {"'0' is out of range: above 0, at most 2"});
  expect_refused("limit", "90", {"'90' has no unit after 90; use d, h, m or s, as in 90s"});
  expect_refused("limit", "1h30", {"'1h30' has no unit after 30"});
  expect_refused("limit", "2000h", {"'2000h' is out of range: 0 to 1000000 (seconds)"});
  for (const char* text : {"", "m", "5m3h", "5m5m", "-5m", "+5m", "5mm", "infs"}) {
    expect_refused("limit", text, {"'" + std::string(text) + "' is not a"});
  }
  expect_refused("limit", "5 m", {"'5 m' is not a length of time such as 90s"});
  expect_refused("limit", "5w", {"'5w' is not a length of time such as 90s"});
  expect_refused("rinse", "often", {"'often' is neither a number of steps nor a length of time"});
  expect_refused("rinse", "5x", {"'5x' is neither a number of steps nor a length of time such as 90s"});
  expect_refused("rinse", "1.5", {"'1.5' has no unit after 1.5"});
  expect_refused("rinse", "0", {"'0' is out of range: at least 1"});
  expect_refused("rinse", "0.5s", {"'0.5s' is out of range: at least 1, finite (seconds), or never"});
  expect_refused("canvas", "3x20", {"'3x20' is not CHANNELSxROWSxCOLUMNS"});
}

TEST(OptionTexts, OfNumbersBeyondTheRangeOfOptions) {
  for (const double value : {1e300, -4.807296789318132e+69, std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(parse_number(value_text(value)), value);
  }
  EXPECT_NE(parse_number("nan"), parse_number("nan"));
  expect_error(Category::usage, {"'1e' is not a number"}, [] { parse_number("1e"); });
}

TEST(OptionTexts, OfTimesAreExact) {
  const Field field;
  for (const double seconds : {0.0, 0.1, 1.0 / 3.0, 1.0, 59.5, 60.0, 3599.0, 93784.0, 86400.0 * 365, 1e15 + 1,
                               9007199254740993.0, 1e30, 1e-300}) {
    const std::string text = to_text(Duration{seconds}, field);
    Duration duration{-1.0};
    from_text(text, field, duration);
    EXPECT_EQ(duration.seconds, seconds) << text;
    Period period;
    from_text(text, field, period);
    EXPECT_EQ(period, (Period{.steps = 0, .time = {seconds}})) << text;
  }
  EXPECT_EQ(value_text(Duration{93784.0}), "1d2h3m4s");
  Duration half;
  from_text("1.5h", field, half);
  EXPECT_EQ(half.seconds, 5400.0);
  EXPECT_EQ(placeholder_of(half, field), "TIME");
  EXPECT_EQ(placeholder_of(Period{}, {.zero = "never"}), "N|TIME|never");
}

TEST(CheckFields, FindsValuesThatTextsCannotGive) {
  const auto expect = [](const PaintOptions& options, const std::string& field, const std::string& reason) {
    const auto error = error_of([&] { check_fields(options); });
    ASSERT_TRUE(error) << field;
    EXPECT_EQ(error->field(), field);
    test::expect_holds(error->what(), reason);
  };
  check_fields(PaintOptions{});
  expect({.brush = "wide"}, "brush", "'wide' is not one of");
  expect({.layers = -3}, "layers", "'-3' is out of range: 1 to 9");
  expect({.share = -0.25}, "share", "'-0.25' is out of range");
  expect({.size = {.min = 1.0, .max = 0.5}}, "size", "'1,0.5' is not MIN,MAX");
  expect({.limit = {.seconds = -1.0}}, "limit", "'-1s' is not a length of time");
  expect({.rinse = {.steps = 5, .time = {60.0}}}, "rinse", "'both 5 steps and 1m' is neither");
  expect({.share = 0.25}, "share", "share: has no effect with --brush flat: omit it");
  expect({.wet = true}, "wet", "wet: has no effect without --pattern: omit it");
  check_fields(PaintOptions{.brush = "round", .share = 0.25, .wet = true, .pattern = "stripes"});
}

TEST(AffectsResult, ByScopeOrWithAnotherOption) {
  const auto affects = [](const PaintOptions& options, const std::string& name) {
    const std::vector<OptionText> texts = texts_of(options);
    return affects_result(
        texts, *std::ranges::find_if(texts, [&](const OptionText& text) { return text.field.name == name; }));
  };
  EXPECT_TRUE(affects({}, "brush"));
  EXPECT_FALSE(affects({}, "threads"));
  EXPECT_FALSE(affects({}, "layers"));
  EXPECT_TRUE(affects({.brush = "round"}, "layers"));
}

TEST(LinesToCompare, LeaveOutWhatMayDiffer) {
  const std::vector<Line> lines = lines_to_compare(PaintOptions{.threads = 3, .pattern = "/a/b"});
  EXPECT_EQ(lines, lines_to_compare(PaintOptions{.threads = 4, .pattern = "/c"}));
  EXPECT_EQ(lines.front(), (Line{"brush", "flat"}));
  EXPECT_EQ(lines.back(), (Line{"limit", "0s"}));
  EXPECT_NE(lines, lines_to_compare(PaintOptions{}));
  EXPECT_EQ(lines.size(), 13U);
}

}  // namespace
}  // namespace lockstep
