#include "checkpoint/json_reader.h"

#include <fmt/format.h>

#include "lockstep/error.h"

namespace lockstep {

void JsonReader::read(std::string_view json, const std::string& origin, std::size_t first_byte) {
  first_byte_ = first_byte;
  if (!json.starts_with('{')) {
    throw Error(Category::data, fmt::format("{}: no JSON object at byte {}", origin, first_byte));
  }
  if (!nlohmann::json::sax_parse(json.begin(), json.end(), this)) {
    throw Error(Category::data, fmt::format("{}: {}", origin, problem_));
  }
}

bool JsonReader::parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) {
  problem_ = fmt::format("not valid JSON at byte {}", first_byte_ + position - 1);
  return false;
}

bool JsonReader::stop(const std::string& what) {
  const std::string name = place();
  problem_ = name.empty() ? what : fmt::format("{}: {}", name, what);
  return false;
}

}  // namespace lockstep
