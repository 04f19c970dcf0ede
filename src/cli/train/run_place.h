#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "cli/train/train_options.h"
#include "lockstep/world.h"
#include "run/run_folder.h"

namespace lockstep {

/// Folder that keeps the record of a run, and checkpoint from which the run starts. Equal on all ranks,
/// except for the lock of the folder, which rank 0 holds.
struct RunPlace {
  RunFolder folder{};                  ///< without a path: nothing is kept
  std::filesystem::path checkpoint{};  ///< checkpoint from which the run continues; empty: it begins anew
  bool continues = false;              ///< whether the folder already holds the run
  bool numbered = false;  ///< whether the folder's name lacks a number, which create_numbered_folder adds

  /// Locks the folder, which must exist, for this process. `host`: name of this host. Waits for a while if
  /// another run uses the folder, at most until all starts together have taken `limit`; 0: no limit. Throws
  /// as RunFolder::lock does: Error(stopped) if `limit` has cut the wait of a restart short.
  void lock(const std::string& host, Duration limit);
  bool keeps() const { return !folder.path().empty(); }
  /// Whether the run starts from a checkpoint of another run.
  bool has_source() const { return !continues && !checkpoint.empty(); }
  /// Whether `--resume FOLDER` also continues from `checkpoint`, once later checkpoints are set aside.
  bool continues_its_newest() const;
};

/// Finds the place that --run-dir and --resume specify. Rank 0 reads the files and locks the folder if it
/// exists. Creates nothing, except the folder of --run-dir with --resume auto. Warns about checkpoints that
/// cannot be read. Needs neither data nor network, so that an unusable folder is refused before these are
/// opened. Collective. Throws on all ranks: Error(usage) for a folder that does not fit; Error(data) if there
/// is nothing to resume, or if none of a run's checkpoints is good; Error(resource) if another run writes
/// there, a checkpoint cannot be read now, or the folder cannot be created.
RunPlace find_run_place(const World& world, const TrainOptions& options);

/// If `place` starts from the newest checkpoint of another run, and that run has since removed this
/// checkpoint, chooses the run's current newest one. Returns whether it did. Collective. Throws as
/// find_run_place does on all ranks.
bool choose_newest_again(const World& world, const TrainOptions& options, RunPlace& place);

/// Run directory that the options name or that an earlier run has created; empty: a new run creates one.
std::filesystem::path run_directory_of(const TrainOptions& options);

/// Creates the folder of a new run without --run-dir, on rank 0. To be called once everything else is known
/// to be good. Collective. Throws Error(resource) on all ranks.
void create_numbered_folder(const World& world, RunPlace& place);

/// Reports the run directory, and the `step` at which the run starts or resumes, to lockstep-run.
void report_start(const RunPlace& place, std::uint64_t step);

}  // namespace lockstep
