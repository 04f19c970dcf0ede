#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "run/checkpoint/checkpoint.h"

namespace lockstep {

/// Selects checkpoints by step; each user states what an empty filter means.
using StepFilter = std::function<bool(std::uint64_t step)>;

/// The newest checkpoint in `folder` that has a `wanted` step (empty: any) and is not damaged; nullopt if
/// there is none. Calls `rejected` with path and reason for each newer one that is damaged. Starts over if
/// another process removes a checkpoint meanwhile. Throws Error(resource) for a checkpoint that cannot be
/// read now, and NewerFormat: these checkpoints may be good.
std::optional<Checkpoint> newest_good_checkpoint(
    const std::filesystem::path& folder,
    const std::function<void(const std::filesystem::path& checkpoint, const std::string& reason)>& rejected,
    const StepFilter& wanted = {});

/// Throws Error(resource) unless the disk has room for two checkpoints of `bytes` each in `folder`, because a
/// new one is written before an old one is removed. `folder` need not exist yet. Room includes free space,
/// leftovers of killed writers, and the checkpoints up to `step`, from which the run continues, except an
/// earlier one of `best_step`. Targets of symbolic links do not count: they may belong to another run.
void check_checkpoint_space(const std::filesystem::path& folder, std::uint64_t bytes, std::uint64_t step = 0,
                            std::uint64_t best_step = 0);

/// Writer of the checkpoints of a run, in the folder RUN/checkpoints. Only one writer may use a folder at a
/// time; its methods may be called from any thread, one at a time. If the process or the machine dies during
/// a call, every whole checkpoint stays whole, except those that the call removes.
class CheckpointStore {
 public:
  /// `keep`: number of latest checkpoints to keep, at least 1.
  CheckpointStore(std::filesystem::path folder, int keep);

  /// Writes a checkpoint, replacing one of the same step; it survives a crash of the machine once this
  /// returns. Then removes all checkpoints up to this step except the latest `keep`, the one of `best_step`
  /// (0: none), and the latest one that is `needed` (empty: none). If the disk is full, first removes
  /// checkpoints older than the newest good one, except those of `best_step` and `needed`, oldest first and
  /// only until there is room, regardless of `keep`. Throws Error(resource) if the checkpoint was not
  /// written, FileError if the reason was a lack of room; the newest good one then remains, and all remain if
  /// room was not the reason. Returns why some checkpoints could not be removed, which the next call retries;
  /// empty if nothing failed.
  std::string write(const CheckpointContents& contents, std::uint64_t best_step,
                    const StepFilter& needed = {}) const;

  /// Number of checkpoints that were set aside, and why others could not be; `failure` is empty if nothing
  /// failed.
  struct SetAside {
    std::size_t checkpoints = 0;
    std::string failure;
  };
  /// Renames checkpoints of steps after `step` to "step-00001234.XXXXXXXX.aside", for a run that continues
  /// from `step`. list_checkpoints omits them; read_checkpoint can still read them. The first write of their
  /// step or a later one removes them.
  SetAside set_aside_after(std::uint64_t step) const;

  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
  int keep_;
};

}  // namespace lockstep
