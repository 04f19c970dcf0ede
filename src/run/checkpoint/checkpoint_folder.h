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

/// Error about a checkpoint in a format that this version does not know. The checkpoint may be good, so an
/// earlier one must not be used instead.
class NewerFormat : public Error {
 public:
  /// `file` has the format `found`; this version reads the format `known`.
  NewerFormat(const std::string& file, std::uint64_t found, std::uint64_t known);
};

/// Calls `read`. Throws Error(resource) with advice if this user lacks a permission, because the file may be
/// good.
template <class Read>
auto with_permission_advice(const Read& read) {
  try {
    return read();
  } catch (const FileError& error) {
    if (!error.is_denied()) throw;
    throw Error(Category::resource, std::string(error.what()) + "; give this user permission to read it");
  }
}

/// Paths of the files in a checkpoint's folder.
struct CheckpointFolder {
  std::filesystem::path path;

  std::filesystem::path model() const { return path / "model.safetensors"; }
  std::filesystem::path optimizer() const { return path / "optimizer.safetensors"; }
  std::filesystem::path state() const { return path / "state.json"; }
  std::filesystem::path manifest() const { return path / "MANIFEST"; }
  /// Paths of all four files.
  std::array<std::filesystem::path, 4> files() const { return {model(), optimizer(), state(), manifest()}; }
};

/// Name of an entry in a folder of checkpoints.
struct CheckpointName {
  enum class Kind {
    whole,      ///< "step-00001234"
    replaced,   ///< "step-00001234.XXXXXXXX.old": being replaced by another of the same step
    aside,      ///< "step-00001234.XXXXXXXX.aside": the run has continued from an earlier checkpoint
    temporary,  ///< ".step-00001234.XXXXXXXX.tmp": being written
  };
  static constexpr const char* replaced_ending = ".old";
  static constexpr const char* aside_ending = ".aside";
  Kind kind = Kind::whole;
  std::uint64_t step = 0;
};

/// Parses the name of an entry; nullopt if it is not the name of a checkpoint.
std::optional<CheckpointName> parse_checkpoint_name(std::string_view name);

/// Name of the folder of a checkpoint: "step-00001234".
std::string checkpoint_name(std::uint64_t step);

/// Entry in a folder of checkpoints.
struct CheckpointEntry {
  std::filesystem::path path;
  CheckpointName name;
};

/// Folders in `folder` with names of checkpoints, whole or not, later steps first. Empty if `folder` does not
/// exist. Throws as list_folder does, but Error(resource) if this user may not list the folder.
std::vector<CheckpointEntry> checkpoint_entries(const std::filesystem::path& folder);

/// Whether `checkpoint` lacks a MANIFEST, as after an interrupted removal. False if the system cannot
/// determine it, so that reading the checkpoint reports the reason.
bool lacks_manifest(const std::filesystem::path& checkpoint);

/// Whether `folder` contains a MANIFEST, which is written last and removed first. False if the system
/// cannot determine it.
bool is_checkpoint(const std::filesystem::path& folder);

/// Whole checkpoints in `folder`, later steps first: folders with a MANIFEST that are not set aside,
/// including "step-00001234.XXXXXXXX.old", which was being replaced when its writer was killed. Empty if
/// `folder` does not exist. Throws as checkpoint_entries does.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& folder);

/// Throws Error(data) if `folder` contains checkpoints but none of them has a MANIFEST. An interrupted
/// removal leaves a checkpoint without a MANIFEST only next to whole ones, so an incomplete copy has left the
/// files out.
void check_manifests(const std::filesystem::path& folder);

}  // namespace lockstep
