#include "data/registry.h"

#include <fmt/format.h>

#include <algorithm>
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

/// Refuses options that belong to other data sets.
void check_used(const std::string& dataset, const DatasetOptions& options) {
  const DatasetOptions defaults;
  const struct {
    const char* name;
    bool given;
    std::vector<std::string> datasets;  ///< those that use it
  } rows[] = {
      {"--image-size", options.image_size != defaults.image_size, {"images"}},
      {"--channels", options.channels != defaults.channels, {"images"}},
      {"--label-column", options.label_column != defaults.label_column, {"csv"}},
      {"--test-fraction", options.test_fraction != defaults.test_fraction, {"images", "csv"}},
      {"--synthetic-shape", options.shape != defaults.shape, {"synthetic"}},
      {"--classes", options.classes != defaults.classes, {"synthetic"}},
      {"--samples", options.samples != defaults.samples, {"synthetic"}},
  };
  for (const auto& row : rows) {
    if (row.given && std::ranges::find(row.datasets, dataset) == row.datasets.end()) {
      throw Error(Category::usage,
                  fmt::format("--dataset {} has no use for {}: leave it out", dataset, row.name));
    }
  }
}

}  // namespace

DatasetPair open_dataset(const World& world, const std::string& name, const DatasetOptions& options) {
  for (const Entry& entry : entries) {
    if (entry.name == name) {
      world.agree([&] { check_used(name, options); });
      return entry.open(world, options);
    }
  }
  world.agree([&] { throw Error(Category::usage, unknown_name("data set", name, dataset_names())); });
  return {};
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
