#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "run/checkpoint/checkpoint.h"

namespace lockstep {

/// Choice among checkpoints by their steps; empty: all.
using StepFilter = std::function<bool(std::uint64_t step)>;

/// The first of list_checkpoints, of a step of `wanted`, that is not damaged; none: there is none. Calls
/// `rejected` with path and reason of each damaged one before it. Begins again if another process removes one
/// meanwhile. Throws Error(resource) for one that cannot be read now, and NewerFormat: these may be good.
std::optional<Checkpoint> newest_good_checkpoint(
    const std::filesystem::path& folder,
    const std::function<void(const std::filesystem::path& checkpoint, const std::string& reason)>& rejected,
    const StepFilter& wanted = {});

/// Throws Error(resource) unless the disk has room for two checkpoints of `bytes` each in `folder`, which
/// need not exist yet: a new one is written before an old one is removed. Counts as room what is free, what
/// killed writers left, and what the checkpoints up to `step` take, from which the run continues, except an
/// earlier one of `best_step`. Targets of symbolic links do not count: they may be of another run.
void check_checkpoint_space(const std::filesystem::path& folder, std::uint64_t bytes, std::uint64_t step = 0,
                            std::uint64_t best_step = 0);

/// Writer of the checkpoints of a run, in the folder RUN/checkpoints. Only one writer may use a folder at a
/// time; its methods may be called from any thread, one at a time. A process or machine that dies during a
/// call leaves every whole checkpoint whole, except those that the call removes.
class CheckpointStore {
 public:
  /// `keep`: number of the latest checkpoints that stay, at least 1.
  CheckpointStore(std::filesystem::path folder, int keep);

  /// Writes a checkpoint, which survives a crash of the machine once this returns, and replaces one of the
  /// same step. Then removes all but the latest `keep` up to this step, that of `best_step` (0: none), and
  /// the latest of a step of `needed`, unless that is empty. If the disk is full, first removes checkpoints
  /// before the newest good one, except these two, the oldest first and only until there is room, whatever
  /// `keep` is. Throws Error(resource) if the checkpoint was not written, FileError if that was for lack of
  /// room; the newest good one then stays, and without a lack of room all. Returns why some could not be
  /// removed, which the next call tries again; empty: nothing failed.
  std::string write(const CheckpointContents& contents, std::uint64_t best_step,
                    const StepFilter& needed = {}) const;

  /// Checkpoints that were set aside, and why others could not be; empty: nothing failed.
  struct SetAside {
    std::size_t checkpoints = 0;
    std::string failure;
  };
  /// Renames checkpoints of steps after `step` to "step-00001234.XXXXXXXX.aside", for a run that continues
  /// from there. list_checkpoints leaves them out. They are read under these names as before, and are removed
  /// by the first write of their step or a later one.
  SetAside set_aside_after(std::uint64_t step) const;

  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
  int keep_;
};

}  // namespace lockstep
