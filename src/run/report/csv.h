#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <string>
#include <string_view>
#include <vector>

#include "run/record_line.h"
#include "run/report/event_numbers.h"

namespace lockstep {

/// A cell of a CSV file (RFC 4180), quoted if needed.
inline std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string cell = "\"";
  for (const char c : text) {
    if (c == '"') cell += c;
    cell += c;
  }
  return cell + "\"";
}

/// Text of a field's value, with the digits of metrics.jsonl; empty for NaN and infinity.
template <class Value>
std::string csv_value(const Value& value) {
  if constexpr (std::floating_point<Value>) {
    if (!std::isfinite(value)) return {};
  }
  if constexpr (NamedEnum<Value>) {
    return csv_cell(name_of(value));
  } else if constexpr (std::is_arithmetic_v<Value>) {
    return number_text(value);
  } else if constexpr (requires { value.has_value(); }) {
    return csv_value(*value);
  } else {
    return csv_cell(value);
  }
}

/// CSV text of events: a header with the names of all fields that occur in the line of any event, and a line
/// per event, with an empty cell for each field that the event's line lacks. Without events: only a header,
/// with the fields that every line has.
template <class Report>
std::string csv(const std::vector<Report>& reports) {
  std::string text;
  const Names columns = reports.empty() ? columns_of(std::vector<Report>(1)) : columns_of(reports);
  for (const std::string& column : columns) text.append(text.empty() ? "" : ",").append(column);
  text += "\n";
  for (const Report& report : reports) {
    const char* separator = "";
    visit(report, [&](std::string_view name, const auto& value, Presence presence) {
      if (std::ranges::find(columns, name) == columns.end()) return;
      text.append(separator).append(has_field(value, presence) ? csv_value(value) : "");
      separator = ",";
    });
    text += "\n";
  }
  return text;
}

}  // namespace lockstep
