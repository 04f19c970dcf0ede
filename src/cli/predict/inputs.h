#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/predict/input_samples.h"
#include "data/sets/images/image_list.h"
#include "lockstep/world.h"

namespace lockstep {

/// Files that a model takes.
struct InputKind {
  const char* name;                      ///< of one, for messages
  bool (*takes)(std::string_view name);  ///< whether a file of this name is one
};
inline InputKind image_inputs() { return {"JPEG, PNG or WebP file", is_image_name}; }
inline InputKind table_inputs() {
  return {"table (.csv)", [](std::string_view name) { return name.ends_with(".csv"); }};
}

/// Files that a user names, which need not exist.
struct NamedFiles {
  std::vector<std::string> files = {};
  std::vector<UnreadInput> unreadable = {};  ///< folders without files of the kind
};

/// Files that a user names, in this order: a file is itself; a folder stands for the files of `kind`
/// in it and its folders, in ascending order of their names, without hidden ones; "-" stands for the lines of
/// the standard input, each a file or folder. Rank 0 looks, and sends the names to the others. Collective.
/// Throws on all ranks Error(data) for a folder without such files if there are no files at all, or with
/// `strict`.
NamedFiles find_inputs(const World& world, const std::vector<std::string>& named, const InputKind& kind,
                       bool strict);

}  // namespace lockstep
