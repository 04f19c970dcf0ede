#include "lockstep/model_description.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "core/json/json.h"
#include "core/options/check.h"
#include "core/text/nearest.h"
#include "core/text/printable.h"
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

void read_entry(const JsonDocument& document, Shape& shape) {
  std::vector<int> extents;
  document.read(document.root(), extents);
  if (extents.size() != 3 || std::ranges::min(extents) < 1) {
    document.refuse(document.root(), "must be channels, rows and columns");
  }
  shape = {extents[0], extents[1], extents[2]};
}
void read_entry(const JsonDocument& document, TargetScale& scale) {
  document.read(document.root(), scale);
  if (!(scale.deviation > 0.0)) document.refuse(document.root(), "deviation must be above 0");
}
void read_entry(const JsonDocument& document, Names& names) {
  if (!document.root().is_array()) document.refuse(document.root(), "must be a list of names");
  for (const JsonValue& name : document.root()) document.read_bytes(name, names.emplace_back());
}
template <class Value>
void read_entry(const JsonDocument& document, Value& value) {
  document.read(document.root(), value);
}

[[noreturn]] void refuse(const std::string& origin, const std::string& entry, const std::string& reason) {
  throw Error(Category::data, fmt::format("{}: metadata '{}': {}", origin, entry, reason));
}

void check_input(const ModelDescription& description, const std::string& origin) {
  const InputOptions& input = description.input;
  try {
    check_fields(input);
  } catch (const Error& error) {
    std::string entry = error.field();
    std::ranges::replace(entry, '-', '_');  // entries are named after options
    refuse(origin, entry, error.message());
  }
  const auto channels = static_cast<std::size_t>(description.shape.channels);
  const auto check_count = [&](const std::vector<double>& values, const char* entry) {
    if (channels == 0 || values.size() <= 1 || values.size() == channels) return;
    refuse(origin, entry,
           fmt::format("{} for {}", counted(values.size(), "number"), counted(channels, "channel")));
  };
  check_count(input.mean, "mean");
  check_count(input.deviation, "std");
}

bool is_task(const std::string& name) {
  const Names tasks = choices_of(Task{});
  return std::ranges::find(tasks, name) != tasks.end();
}

/// Throws Error(data) for entries that can be read but are not valid for any model.
void check(const ModelDescription& description, const std::string& origin) {
  check_input(description, origin);
  if (!is_task(description.task)) {
    refuse(origin, "task", unknown_name("task", description.task, choices_of(Task{})));
  }
  const std::size_t names = description.classes.size();
  const auto outputs = static_cast<std::size_t>(description.outputs);
  // A network may have more outputs than the data set has classes.
  const bool may_lack_names = description.task == name_of(Task::classification);
  if (names == 0 || outputs == 0 || names == outputs || (names < outputs && may_lack_names)) return;
  refuse(origin, "classes", fmt::format("{} for {}", counted(names, "name"), counted(outputs, "output")));
}

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
      const JsonDocument document(found->second,
                                  {.file = fmt::format("{}: metadata '{}'", origin, field.name)});
      read_entry(document, value);
    }
  });
  for (const auto& entry : entries) {
    if (is_result(entry.first)) description.results.push_back(entry);
  }
  const bool is_own = !description.version.empty() || !description.network.empty();
  if (is_own) {
    check(description, origin);
  } else if (!is_task(description.task)) {
    description.task = ModelDescription().task;  // another program's term
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
