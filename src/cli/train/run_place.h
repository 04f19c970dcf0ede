#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cli/train/train_options.h"
#include "core/files/lock_file.h"
#include "lockstep/world.h"

namespace lockstep {

/// Folder that keeps the record of a run, and checkpoint from which the run starts. Equal on all ranks.
struct RunPlace {
  std::filesystem::path directory;   ///< run directory; empty: nothing is kept
  std::filesystem::path checkpoint;  ///< from which the run goes on; empty: it begins anew
  bool continues = false;            ///< whether the directory holds the run already

  bool keeps() const { return !directory.empty(); }
};

/// Lock of the run directory of this process, on rank 0.
class RunLock {
 public:
  /// `host`: name of this host, which another run tells.
  explicit RunLock(std::string host) : host_(std::move(host)) {}
  /// Locks `directory`, which exists, unless that is done. Errors are those of LockFile.
  void take(const std::filesystem::path& directory);

 private:
  std::string host_;
  std::optional<LockFile> file_;
};

/// Follows from --run-dir and --resume; rank 0 looks at the files, and creates the folder of a new run
/// without --run-dir, and locks one that exists. Warns of checkpoints that cannot be read. Collective. Throws
/// on all ranks Error(usage) for a directory that does not fit, Error(data) if there is nothing to resume, or
/// if none of a run's checkpoints is good, Error(resource) too if another run writes there or a checkpoint
/// cannot be read now.
RunPlace find_run_place(const World& world, const TrainOptions& options, RunLock& lock);

/// Prints the run directory on stderr for a launcher that may restart the run, if there is one.
void tell_launcher(const RunPlace& place);

}  // namespace lockstep
