#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/files/file.h"
#include "core/files/lock_file.h"
#include "lockstep/error.h"

namespace lockstep {

/// State of a run folder, found without writing to it.
struct RunSurvey {
  bool exists = false;                               ///< whether the folder exists
  bool used = false;                                 ///< whether a run has begun there: it has a record
  std::vector<std::filesystem::path> checkpoints{};  ///< whole checkpoints, later steps first
};

/// Files and folders that a run has exactly once: paths relative to its folder.
struct RunFileNames {
  const char* options = "options.cfg";
  const char* environment = "environment.json";
  const char* plans = "plans.json";
  const char* metrics = "metrics.jsonl";
  const char* report = "report.html";
  const char* tensorboard = "tensorboard";
  const char* lock = "lock";
  const char* checkpoints = "checkpoints";
  const char* final_model = "checkpoints/final.safetensors";
  const char* best = "checkpoints/best.safetensors";

  constexpr auto all() const {
    const auto& [a, b, c, d, e, f, g, h, i, j] = *this;
    return std::array{a, b, c, d, e, f, g, h, i, j};
  }
};

/// Folder of a run: names of its files, its lock and its record. Errors are Error(resource) with file and
/// reason, unless a method says otherwise.
class RunFolder {
 public:
  RunFolder() = default;
  /// Touches no file. Empty path: the run stores nothing. A trailing slash is removed, so that path() is the
  /// parent path of the files.
  explicit RunFolder(std::filesystem::path path)
      : path_(path.has_filename() ? std::move(path) : path.parent_path()) {}

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path options() const { return path_ / names.options; }
  std::filesystem::path environment() const { return path_ / names.environment; }
  std::filesystem::path plans() const { return path_ / names.plans; }
  std::filesystem::path metrics() const { return path_ / names.metrics; }
  std::filesystem::path report() const { return path_ / names.report; }
  std::filesystem::path tensorboard() const { return path_ / names.tensorboard; }
  std::filesystem::path lock_file() const { return path_ / names.lock; }
  std::filesystem::path checkpoints() const { return path_ / names.checkpoints; }
  std::filesystem::path final_model() const { return path_ / names.final_model; }
  std::filesystem::path best() const { return path_ / names.best; }
  /// File with the samples of a step whose loss or gradient norm is not finite.
  std::filesystem::path not_finite(std::uint64_t step) const;
  /// Number of such files in the folder.
  std::size_t not_finite_files() const;
  /// Whether `file`, a path below this folder, has the name of a file that runs write.
  bool knows(const std::filesystem::path& file) const;

  /// State of the folder. Also throws as list_folder does.
  RunSurvey survey() const;
  /// Throws Error(usage) if a new run cannot begin here because the folder holds checkpoints or a record; if
  /// the run `begins_again`, a record is allowed unless there is a final model. Throws as check_manifests
  /// does if the MANIFESTs of checkpoints are missing.
  void check_unused(bool begins_again = false) const;
  /// Removes the record of a run without checkpoints, if there is one, so that the run begins again. Throws
  /// as remove_file does.
  void remove_record() const;

  /// Locks the folder, which must exist, for the life of this object, unless it is already locked. `holder`:
  /// name of this process, which other processes print. Waits and throws as LockFile does.
  void lock(const std::string& holder, double seconds, Category in_use = Category::resource);
  /// Throws Error(resource) if the path no longer leads to the locked folder, as after a move or a removal:
  /// the run would continue in a folder without its lock, options and record. Also throws if the lock was
  /// removed and another run has begun here; if no other run has, locks the folder again, or throws FileError
  /// if that fails.
  void check_place() const;

  /// Creates the folder, its parents and its folder of checkpoints, removes temporary files of killed
  /// writers, and writes options.cfg and environment.json with these texts. Throws Error(usage) as
  /// check_unused does, unless the run `continues` here; Error(resource) if a file cannot be written,
  /// including the models and the report that are written at the end.
  void create(const std::string& options, const std::string& environment, bool continues = false) const;

  /// Removes from the record the events of steps after `step` and of epochs after `epoch`, and the end. Keeps
  /// the events about values that were not finite up to step `passed`: the run rolled back from there to a
  /// checkpoint and does not repeat these steps. Also removes lines that a crash of the machine has damaged.
  /// Returns sentences about what the record then lacks.
  std::vector<std::string> cut_record(std::uint64_t step, int epoch, std::uint64_t passed = 0) const;

 private:
  static constexpr RunFileNames names{};
  std::filesystem::path path_;
  FileDescriptor descriptor_;  ///< descriptor of the locked folder; none if this process may not list it
  std::unique_ptr<LockFile> lock_;
};

/// Creates an empty folder NAME-N in `parent`, which is created if missing. N is 1 more than the largest N
/// there, or 1. Throws Error(resource).
std::filesystem::path new_run_folder(const std::filesystem::path& parent, const std::string& name);
/// Path of the folder NAME-N in `parent` with the largest N among the folders that hold a checkpoint or, if
/// none does, among all; empty if there is none. A failed start may leave a folder without a checkpoint.
std::filesystem::path latest_run_folder(const std::filesystem::path& parent, const std::string& name);

}  // namespace lockstep
