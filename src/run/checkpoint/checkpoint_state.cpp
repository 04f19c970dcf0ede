#include "run/checkpoint/checkpoint_state.h"

#include <fmt/format.h>

#include "core/json/json.h"
#include "run/checkpoint/checkpoint_folder.h"

namespace lockstep {

std::string state_json(const CheckpointState& state) {
  try {
    return json_of(state).dump(1) + "\n";
  } catch (const nlohmann::json::type_error& error) {
    throw Error(Category::internal, fmt::format("state.json: {}", error.what()));
  }
}

CheckpointState parse_state(std::string_view json, const std::string& origin) {
  const JsonDocument document(json, {.file = origin});
  const JsonValue& root = document.root();
  document.check_object(root);
  CheckpointState state;
  const auto format = root.find("format");
  if (format != root.end() && format->is_number_unsigned() && format->get<std::uint64_t>() > state.format) {
    throw NewerFormat(origin, format->get<std::uint64_t>(), state.format);
  }
  if (format != root.end() && *format != state.format) {
    document.refuse(*format, fmt::format("is {}; this version of lockstep reads format {}", format->dump(),
                                         state.format));
  }
  document.read(root, state);
  return state;
}

}  // namespace lockstep
