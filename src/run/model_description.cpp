#include "lockstep/model_description.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "core/json/json.h"
#include "lockstep/error.h"
#include "models/json/json_network.h"

namespace lockstep {
namespace {

/// Whether the entry `name` is a result of an evaluation.
bool is_result(std::string_view name) {
  return name == "epoch" || name.starts_with("test_") || name.starts_with("validation_");
}

JsonValue entry_of(const Shape& shape) { return {shape.channels, shape.height, shape.width}; }
JsonValue entry_of(const Names& names) {
  JsonValue list = JsonValue::array();
  for (const std::string& name : names) list.push_back(json_of_bytes(name));
  return list;
}
template <class Value>
JsonValue entry_of(const Value& value) {
  return lockstep::json_of(value);
}

/// Reads the JSON text of an entry.
class EntryReader {
 public:
  EntryReader(const std::string& text, const std::string& origin) : document_(text, {.file = origin}) {}

  void read(Shape& shape) const {
    std::vector<int> extents;
    document_.read(document_.root(), extents);
    if (extents.size() != 3 || std::ranges::min(extents) < 1) {
      document_.refuse(document_.root(), "must be channels, rows and columns");
    }
    shape = {extents[0], extents[1], extents[2]};
  }
  void read(TargetScale& scale) const {
    document_.read(document_.root(), scale);
    if (!(scale.deviation > 0.0)) document_.refuse(document_.root(), "deviation must be above 0");
  }
  void read(Names& names) const {
    if (!document_.root().is_array()) document_.refuse(document_.root(), "must be a list of names");
    for (const JsonValue& name : document_.root()) document_.read_bytes(name, names.emplace_back());
  }
  template <class Value>
  void read(Value& value) const {
    document_.read(document_.root(), value);
  }

 private:
  JsonDocument document_;
};

}  // namespace

std::map<std::string, std::string> metadata_of(const ModelDescription& description) {
  const ModelDescription unknown{.task = {}};
  std::map<std::string, std::string> unknown_entries, entries;
  const auto add_to = [](std::map<std::string, std::string>& all) {
    return [&all](const auto& value, const Field& field) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, std::string>) {
        all[field.name] = value;
      } else {
        all[field.name] = entry_of(value).dump();
      }
    };
  };
  visit(unknown, add_to(unknown_entries));
  visit(description, add_to(entries));
  std::erase_if(entries, [&](const auto& entry) { return unknown_entries.at(entry.first) == entry.second; });
  entries.insert(description.results.begin(), description.results.end());
  return entries;
}

ModelDescription description_of(const ModelFile& file) {
  return description_of(file.metadata(), file.origin());
}

ModelDescription description_of(const std::map<std::string, std::string>& entries,
                                const std::string& origin) {
  ModelDescription description;
  visit(description, [&](auto& value, const Field& field) {
    const auto found = entries.find(field.name);
    if (found == entries.end()) return;
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, std::string>) {
      value = found->second;
    } else {
      EntryReader(found->second, fmt::format("{}: metadata '{}'", origin, field.name)).read(value);
    }
  });
  for (const auto& entry : entries) {
    if (is_result(entry.first)) description.results.push_back(entry);
  }
  return description;
}

std::unique_ptr<Network> make_network(const ModelDescription& description, const std::string& origin) {
  if (description.network.empty() || description.shape.channels < 1 || description.outputs < 1) {
    throw Error(Category::data, origin + ": does not contain its network");
  }
  try {
    return parse_network(description.network, origin + ": metadata 'network'", description.shape,
                         description.outputs);
  } catch (const Error& error) {
    throw Error(Category::data, error.what());
  }
}

}  // namespace lockstep
