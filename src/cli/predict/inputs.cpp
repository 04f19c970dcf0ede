#include "cli/predict/inputs.h"

#include <fmt/format.h>

#include <iostream>
#include <utility>

#include "comm/world/gather.h"
#include "core/files/file_system.h"
#include "core/files/folder.h"
#include "data/sets/csv_dataset.h"
#include "data/sets/whole.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

struct FoundNames {
  std::vector<std::string> files = {};
  std::vector<std::string> empty_folders = {};
};

void add(const std::string& name, const InputKind& kind, FoundNames& found) {
  if (name.empty()) return;
  if (!is_folder(name)) {
    found.files.push_back(name);
    return;
  }
  const std::size_t before = found.files.size();
  for (const std::filesystem::path& path : list_tree(name)) {
    if (!kind.takes(path.filename().string())) continue;
    found.files.push_back((std::filesystem::path(name) / path).string());
  }
  if (found.files.size() == before) found.empty_folders.push_back(name);
}

FoundNames find_all(const std::vector<std::string>& named, const InputKind& kind) {
  FoundNames found;
  for (const std::string& name : named) {
    if (name != "-") {
      add(name, kind, found);
      continue;
    }
    for (std::string line; std::getline(std::cin, line);) {
      if (line.ends_with('\r')) line.pop_back();
      add(line, kind, found);
    }
  }
  return found;
}

}  // namespace

NamedFiles find_inputs(const World& world, const std::vector<std::string>& named, const InputKind& kind,
                       bool strict) {
  const auto reason = [&](const std::string& folder) {
    return fmt::format("{}: no {} in this folder", folder, kind.name);
  };
  FoundNames found;
  world.agree([&] {
    if (world.rank() == 0) found = find_all(named, kind);
    if (found.empty_folders.empty() || (!found.files.empty() && !strict)) return;
    throw Error(Category::data, reason(found.empty_folders[0]));
  });
  NamedFiles inputs{.files = broadcast(world, found.files)};
  for (const std::string& folder : broadcast(world, found.empty_folders)) {
    inputs.unreadable.push_back({folder, reason(folder)});
  }
  return inputs;
}

InputSamples read_tables(const std::vector<std::string>& files, const TableEncoding& encoding, bool strict) {
  const RowTargets targets{.names = {"row"}};
  std::vector<std::unique_ptr<Dataset>> parts;
  InputSamples tables;
  for (const std::string& file : files) {
    try {
      parts.push_back(
          make_csv_dataset(encoding, read_encoded_table(CsvFile(file).reader(), encoding, ""), targets));
    } catch (const Error& error) {
      if (strict || error.category() != Category::data) throw;
      tables.unreadable.push_back({file, error.what()});
    }
  }
  if (parts.empty()) parts.push_back(make_csv_dataset(encoding, {}, targets));
  tables.samples = join(std::move(parts));
  return tables;
}

}  // namespace lockstep
