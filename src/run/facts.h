#pragma once

#include <algorithm>
#include <string>

#include "lockstep/checkpoint.h"

namespace lockstep {

/// Value of the fact called `name`; null if there is none.
inline const std::string* find_fact(const Facts& facts, const std::string& name) {
  const auto found = std::ranges::find(facts, name, &Facts::value_type::first);
  return found == facts.end() ? nullptr : &found->second;
}

}  // namespace lockstep
