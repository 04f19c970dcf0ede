#include "cli/predict/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <span>
#include <string_view>
#include <utility>

#include "core/files/file_system.h"
#include "core/files/folder.h"
#include "data/sets/images/image_list.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

using FolderId = std::pair<std::uint64_t, std::uint64_t>;  ///< device and inode

/// `outer`: folders in which this one is, so that links to them are not followed.
void add_folder(const std::filesystem::path& folder, const InputKind& kind, std::vector<FolderId>& outer,
                std::vector<std::string>& inputs) {
  FileStatus status;
  files().stat(folder, status);
  const FolderId id{status.device, status.inode};
  if (std::ranges::find(outer, id) != outer.end()) return;
  outer.push_back(id);
  for (const std::string& name : list_folder(folder)) {
    if (name.starts_with('.')) continue;
    const std::filesystem::path path = folder / name;
    if (file_kind(path) == FileKind::folder) {
      add_folder(path, kind, outer, inputs);
    } else if (kind.takes(name)) {
      inputs.push_back(path.string());
    }
  }
  outer.pop_back();
}

void add(const std::string& name, const InputKind& kind, std::vector<std::string>& inputs) {
  if (name.empty()) return;
  if (file_kind(name) != FileKind::folder) {
    inputs.push_back(name);
    return;
  }
  const std::size_t before = inputs.size();
  std::vector<FolderId> outer;
  add_folder(name, kind, outer, inputs);
  if (inputs.size() == before) {
    throw Error(Category::data, fmt::format("{}: no {} in this folder", name, kind.name));
  }
}

std::vector<std::string> find_all(const std::vector<std::string>& named, const InputKind& kind) {
  std::vector<std::string> inputs;
  for (const std::string& name : named) {
    if (name != "-") {
      add(name, kind, inputs);
      continue;
    }
    for (std::string line; std::getline(std::cin, line);) {
      if (line.ends_with('\r')) line.pop_back();
      add(line, kind, inputs);
    }
  }
  return inputs;
}

}  // namespace

std::vector<std::string> find_inputs(const World& world, const std::vector<std::string>& named,
                                     const InputKind& kind) {
  std::string text;  // each name ends with a zero byte, which no name contains
  world.agree([&] {
    if (world.rank() != 0) return;
    for (const std::string& name : find_all(named, kind)) text.append(name) += '\0';
  });
  const std::vector<std::byte> bytes = world.broadcast(std::as_bytes(std::span(text)));
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::vector<std::string> inputs;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\0');
    inputs.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  return inputs;
}

}  // namespace lockstep
