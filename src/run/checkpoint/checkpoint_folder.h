#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/files/file.h"
#include "lockstep/error.h"

namespace lockstep {

/// A checkpoint in a format that this version does not know. It may be good, so no earlier one replaces it.
class NewerFormat : public Error {
 public:
  /// `file` names the format `found`; this version reads `known`.
  NewerFormat(const std::string& file, std::uint64_t found, std::uint64_t known);
};

/// Calls `read`. Throws Error(resource), with advice, if this user lacks a permission: the file may be good.
template <class Read>
auto with_permission_advice(const Read& read) {
  try {
    return read();
  } catch (const FileError& error) {
    if (!error.is_denied()) throw;
    throw Error(Category::resource, std::string(error.what()) + "; give this user permission to read it");
  }
}

/// Files of a checkpoint's folder.
struct CheckpointFolder {
  std::filesystem::path path;

  std::filesystem::path model() const { return path / "model.safetensors"; }
  std::filesystem::path optimizer() const { return path / "optimizer.safetensors"; }
  std::filesystem::path state() const { return path / "state.json"; }
  std::filesystem::path manifest() const { return path / "MANIFEST"; }
  /// All of them.
  std::array<std::filesystem::path, 4> files() const { return {model(), optimizer(), state(), manifest()}; }
};

/// Name of an entry of a folder of checkpoints.
struct CheckpointName {
  enum class Kind {
    whole,      ///< "step-00001234"
    replaced,   ///< "step-00001234.XXXXXXXX.old": being replaced by another of the same step
    aside,      ///< "step-00001234.XXXXXXXX.aside": the run has continued from an earlier one
    temporary,  ///< ".step-00001234.XXXXXXXX.tmp": being written
  };
  static constexpr const char* replaced_ending = ".old";
  static constexpr const char* aside_ending = ".aside";
  Kind kind = Kind::whole;
  std::uint64_t step = 0;
};

/// None: not a name of this kind.
std::optional<CheckpointName> parse_checkpoint_name(std::string_view name);

/// Name of the folder of a checkpoint: "step-00001234".
std::string checkpoint_name(std::uint64_t step);

/// Entry of a folder of checkpoints.
struct CheckpointEntry {
  std::filesystem::path path;
  CheckpointName name;
};

/// Folders in `folder` with names of checkpoints, whole or not, those of later steps first. Empty if there is
/// no such folder. Throws as list_folder does, but Error(resource) if this user may not list it.
std::vector<CheckpointEntry> checkpoint_entries(const std::filesystem::path& folder);

/// Whether there is no MANIFEST, as after an interrupted removal. False if the system cannot determine it, so
/// that reading the checkpoint reports the reason.
bool lacks_manifest(const std::filesystem::path& checkpoint);

/// Whether `folder` contains a MANIFEST, which is written last and removed first. False if the system
/// cannot determine it.
bool is_checkpoint(const std::filesystem::path& folder);

/// Whole checkpoints in a folder, those of later steps first: folders with a name of checkpoint_name and a
/// MANIFEST, without those that are set aside. A folder "step-00001234.XXXXXXXX.old" was being replaced when
/// its writer was killed. Empty if there is no folder. Throws as checkpoint_entries does.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& folder);

/// Throws Error(data) if `folder` has folders of checkpoints, but none of them has a MANIFEST. An interrupted
/// removal leaves such a folder only beside whole checkpoints, so a copy has left the files out.
void check_manifests(const std::filesystem::path& folder);

}  // namespace lockstep
