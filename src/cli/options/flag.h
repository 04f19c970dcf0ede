#pragma once

#include <concepts>
#include <string>
#include <type_traits>

#include "lockstep/field.h"

namespace lockstep {

/// Flag of a member of an options struct, for messages: flag_of(&BatchOptions::size) is "--batch-size".
template <class Options, class T>
std::string flag_of(T Options::*member) {
  const Options options{};
  std::string flag;
  visit(options, [&](const auto& value, const Field& field) {
    if constexpr (std::same_as<std::remove_cvref_t<decltype(value)>, T>) {
      if (&value == &(options.*member)) flag = std::string("--") + field.name;
    }
  });
  return flag;
}

}  // namespace lockstep
