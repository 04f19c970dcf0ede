#include "run/record_line.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "lockstep/error.h"

namespace lockstep {
namespace {

/// `text` as JSON; bytes that are not UTF-8 are replaced.
std::string quoted(const std::string& text) { return json_text(JsonValue(text)); }

/// Appends the fields of an event.
struct FieldWriter {
  template <class Value>
  void operator()(const char* name, const Value& value, Presence presence) const {
    if (!has_field(value, presence)) return;
    fmt::format_to(fmt::appender(text), ",\"{}\":", name);
    append(value);
  }
  template <class Value>
  void append(const std::optional<Value>& value) const {
    append(*value);
  }
  template <class Value>
  void append(const std::vector<Value>& list) const {
    text.push_back('[');
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i > 0) text.push_back(',');
      append(list[i]);
    }
    text.push_back(']');
  }
  void append(std::integral auto value) const { append_number(text, value); }
  void append(std::floating_point auto value) const {
    if (std::isfinite(value)) {
      append_number(text, value);
    } else {
      fmt::format_to(fmt::appender(text), "null");
    }
  }
  void append(const std::string& value) const { fmt::format_to(fmt::appender(text), "{}", quoted(value)); }
  void append(NamedEnum auto value) const { append(name_of(value)); }

  fmt::memory_buffer& text;
};

/// Field `name` of a line. Throws Error(data) if the line is not an object or lacks the field.
const JsonValue& required(const JsonValue& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end()) throw Error(Category::data, fmt::format("'{}' is missing", name));
  return *found;
}

/// Sets the fields of an event from its line.
struct FieldReader {
  template <class Value>
  void operator()(const char* name, Value& value, Presence presence) const {
    if (presence != Presence::required && !json.contains(name)) return;
    read(required(json, name), value);
  }
  template <class Value>
  static void read(const JsonValue& from, std::optional<Value>& value) {
    read(from, value.emplace());
  }
  template <class Value>
  static void read(const JsonValue& from, Value& value) {
    if constexpr (std::floating_point<Value>) {
      value = from.is_null() ? std::numeric_limits<Value>::quiet_NaN() : from.get<Value>();
    } else if constexpr (NamedEnum<Value>) {
      const Names names = choices_of(value);
      const auto found = std::ranges::find(names, from.get<std::string>());
      if (found != names.end()) value = static_cast<Value>(found - names.begin());
    } else {
      value = from.get<Value>();
    }
  }

  const JsonValue& json;
};

/// Whether every event except EndReport has a step or an epoch, which is_within needs.
template <class... Reports>
constexpr bool have_places(std::type_identity<std::variant<Reports...>> /*events*/) {
  return ((
              std::same_as<Reports, EndReport> || requires(Reports report) { report.step; } ||
              requires(Reports report) { report.epoch; }) &&
          ...);
}
static_assert(have_places(std::type_identity<RunEvent>()));

/// Calls `work`; errors of the JSON library become Error(data).
template <class Work>
auto checked(const Work& work) {
  try {
    return work();
  } catch (const JsonValue::parse_error&) {
    throw Error(Category::data, "not valid JSON");
  } catch (const JsonValue::exception&) {
    throw Error(Category::data, "a value has the wrong type or is too large");
  }
}

}  // namespace

void append_line(fmt::memory_buffer& text, const RunEvent& event) {
  std::visit(
      [&](const auto& report) {
        fmt::format_to(fmt::appender(text), R"({{"event":"{}")", report.event);
        visit(report, FieldWriter{text});
      },
      event);
  fmt::format_to(fmt::appender(text), "}}\n");
}

RecordLine::RecordLine(std::string_view line) {
  checked([&] {
    json_ = JsonValue::parse(line);
    kind_ = required(json_, "event").get<std::string>();
    step_ = json_.value("step", std::uint64_t{0});
    if (kind_ == EpochReport::event) static_cast<void>(required(json_, "epoch"));
    epoch_ = json_.value("epoch", 0);
    ends_ = kind_ == EndReport::event ||
            (is_not_finite() && json_.value("handling", std::string()) == name_of(OnNan::stop));
  });
}

bool RecordLine::is_within(std::uint64_t last_step, int last_epoch) const {
  if (ends_) return false;
  return step_ > 0 ? step_ <= last_step : epoch_ <= last_epoch;
}

std::optional<RunEvent> RecordLine::event() const {
  std::optional<RunEvent> result;
  const auto read_as = [&]<class Report>(Report report) {
    if (kind_ != Report::event) return;
    visit(report, FieldReader{json_});
    result = std::move(report);
  };
  checked([&] {
    [&]<class... Reports>(std::type_identity<std::variant<Reports...>>) {
      (read_as(Reports()), ...);
    }(std::type_identity<RunEvent>());
  });
  return result;
}

}  // namespace lockstep
