#include "data/registry.h"

#include <fmt/format.h>

#include <array>

#include "core/nearest.h"
#include "lockstep/error.h"
#include "lockstep/world.h"

namespace lockstep {
namespace {

struct Entry {
  const char* name;
  DatasetPair (*open)(const World& world, const DatasetOptions& options);
};

#define LOCKSTEP_ROW(name, function) Entry{name, function},
constexpr std::array entries = {LOCKSTEP_DATASETS(LOCKSTEP_ROW)};
#undef LOCKSTEP_ROW

}  // namespace

DatasetPair open_dataset(const World& world, const std::string& name, const DatasetOptions& options) {
  for (const Entry& entry : entries) {
    if (entry.name == name) {
      return entry.open(world, options);
    }
  }
  world.agree([&] { throw Error(Category::usage, unknown_name("data set", name, dataset_names())); });
  return {};
}

std::string Dataset::sample_name(std::uint64_t id) const { return fmt::format("sample {}", id); }

std::vector<std::string> dataset_names() {
  std::vector<std::string> names;
  names.reserve(entries.size());
  for (const Entry& entry : entries) {
    names.emplace_back(entry.name);
  }
  return names;
}

}  // namespace lockstep
