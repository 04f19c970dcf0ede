#include "data/sets/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "comm/world/check_same.h"
#include "core/options/check.h"
#include "data/sets/parts.h"
#include "lockstep/error.h"
#include "lockstep/world.h"

namespace lockstep {
namespace {

struct Entry {
  std::string_view name;
  DatasetPair (*open)(const World& world, const DatasetOptions& options, DataUse use);
};

#define LOCKSTEP_ROW(name, function) Entry{name, function},
constexpr std::array entries = {LOCKSTEP_DATASETS(LOCKSTEP_ROW)};
#undef LOCKSTEP_ROW

}  // namespace

DatasetPair open_parts(const World& world, const DatasetOptions& options, DataUse use) {
  check_same(world, lines_to_compare(options));
  world.agree([&] { check_fields(options); });
  DatasetPair pair = std::ranges::find(entries, options.name, &Entry::name)->open(world, options, use);
  world.agree([&] { complete_parts(pair, options, use); });
  return pair;
}

DatasetPair open_dataset(const World& world, const DatasetOptions& options) {
  return open_parts(world, options, DataUse::training);
}

std::vector<std::string> dataset_names() {
  std::vector<std::string> names;
  names.reserve(entries.size());
  for (const Entry& entry : entries) {
    names.emplace_back(entry.name);
  }
  return names;
}

}  // namespace lockstep
