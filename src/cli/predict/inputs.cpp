#include "cli/predict/inputs.h"

#include <fmt/format.h>

#include <iostream>

#include "comm/world/gather.h"
#include "core/files/file_system.h"
#include "core/files/folder.h"
#include "data/sets/images/image_list.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

void add(const std::string& name, const InputKind& kind, std::vector<std::string>& inputs) {
  if (name.empty()) return;
  if (!is_folder(name)) {
    inputs.push_back(name);
    return;
  }
  const std::size_t before = inputs.size();
  for (const std::filesystem::path& path : list_tree(name)) {
    if (kind.takes(path.filename().string())) inputs.push_back((std::filesystem::path(name) / path).string());
  }
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
  std::vector<std::string> inputs;
  world.agree([&] {
    if (world.rank() == 0) inputs = find_all(named, kind);
  });
  return broadcast(world, inputs);
}

}  // namespace lockstep
