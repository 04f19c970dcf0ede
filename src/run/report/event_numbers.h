#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

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

/// Name of a field for people: "train loss" for "train_loss".
inline std::string words(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

/// Number in the field `name` of an event's line; NaN if the line has none.
template <class Report>
double number_in(const Report& report, std::string_view name) {
  double result = std::numeric_limits<double>::quiet_NaN();
  for_each_number(report, [&](std::string_view field, auto number) {
    if (field == name) result = static_cast<double>(number);
  });
  return result;
}

}  // namespace lockstep
