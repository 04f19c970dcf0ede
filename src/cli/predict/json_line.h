#pragma once

#include <string>

#include "core/json/json.h"

namespace lockstep {

/// A described struct as a JSON object on a line. Bytes that are not UTF-8 are replaced.
template <class Line>
std::string json_line(const Line& line) {
  return json_text(json_of(line)) + "\n";
}

}  // namespace lockstep
