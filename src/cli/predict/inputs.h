#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/members.h"
#include "data/files/table_encoding.h"
#include "data/sets/images/image_list.h"
#include "lockstep/dataset.h"
#include "lockstep/shape.h"
#include "lockstep/world.h"

namespace lockstep {

/// Kind of input files that a model accepts.
struct InputKind {
  const char* name;                      ///< words for one file, for messages
  bool (*takes)(std::string_view name);  ///< whether a file with this name is of this kind
};
inline InputKind image_inputs() { return {"JPEG, PNG or WebP file", is_image_name}; }
inline InputKind table_inputs() {
  return {"table (.csv)", [](std::string_view name) { return name.ends_with(".csv"); }};
}

/// A table or an archive that could not be read, or a folder without inputs. `error` names the input.
struct UnreadInput {
  std::string input;
  std::string error;
};
LOCKSTEP_MEMBERS(UnreadInput, input, error)

/// Files that a user names; they need not exist.
struct NamedFiles {
  std::vector<std::string> files = {};
  std::vector<UnreadInput> unreadable = {};  ///< folders without files of the kind
};

/// Files that `named` stands for, in this order: a file stands for itself; a folder for the files of `kind`
/// in it and its subfolders, in ascending order of names, without hidden files; "-" for the lines of the
/// standard input, each a file or folder. Rank 0 searches, and sends the names to the other ranks.
/// Collective. Throws on all ranks Error(data) for a folder without such files if there are no files at all,
/// or with `strict`.
NamedFiles find_inputs(const World& world, const std::vector<std::string>& named, const InputKind& kind,
                       bool strict);

/// Samples without classes, to be predicted: all labels are 0.
struct InputSamples {
  std::unique_ptr<Dataset> samples;
  std::vector<UnreadInput> unreadable = {};
};

/// Images to be predicted, in the order of `files`: an image stands for itself and need not exist; a tar
/// archive for its images, sorted by name (data/sets/images/tar_images.h), which are called ARCHIVE/NAME.
/// Images are read when samples are requested. `shape`: shape of the network's input. With `strict`, throws
/// Error(data) for an archive that cannot be read.
InputSamples find_images(const std::vector<std::string>& files, Shape shape, bool strict = false);

/// Reads tables that have the columns of `encoding`, and perhaps others, in any order. Samples are the rows
/// of all tables in the order of `files`, and are called "FILE: line N". All of them are held in memory. With
/// `strict`, throws Error(data) for a table that cannot be read.
InputSamples read_tables(const std::vector<std::string>& files, const TableEncoding& encoding, bool strict);

}  // namespace lockstep
