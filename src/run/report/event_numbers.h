#pragma once

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "lockstep/reports.h"

namespace lockstep {

/// Calls use(name, number) for each number in the line of an event, in order, with the number's own type.
template <class Report, class Use>
void for_each_number(const Report& report, const Use& use) {
  visit(report, [&]<class Value>(const char* name, const Value& value, Presence presence) {
    if (!has_field(value, presence)) return;
    if constexpr (std::is_arithmetic_v<Value>) {
      use(name, value);
    } else if constexpr (requires {
                           requires std::is_arithmetic_v<typename Value::value_type>;
                           *value;
                         }) {
      use(name, *value);
    }
  });
}

/// Speed of a step; the step's line in the record does not contain it.
inline double images_per_second(const StepReport& step) {
  return static_cast<double>(step.samples) / step.seconds;
}

/// Name of a field as reports show it: "train loss" for "train_loss".
inline std::string words(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

/// Names of the fields that occur in the line of any event in `reports`, in order.
template <class Report>
Names columns_of(const std::vector<Report>& reports) {
  Names all;
  std::set<std::string> present;
  for (const Report& report : reports) {
    visit(report, [&](std::string_view name, const auto& value, Presence presence) {
      if (std::ranges::find(all, name) == all.end()) all.emplace_back(name);
      if (has_field(value, presence)) present.emplace(name);
    });
  }
  std::erase_if(all, [&](const std::string& name) { return !present.contains(name); });
  return all;
}

/// Number in the field `name` of an event's line; NaN if the line has no such number.
template <class Report>
double number_in(const Report& report, std::string_view name) {
  double result = std::numeric_limits<double>::quiet_NaN();
  for_each_number(report, [&](std::string_view field, auto number) {
    if (field == name) result = static_cast<double>(number);
  });
  return result;
}

}  // namespace lockstep
