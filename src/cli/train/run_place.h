#pragma once

#include <filesystem>
#include <string>

#include "cli/train/train_options.h"
#include "lockstep/world.h"

namespace lockstep {

/// Where a run keeps its record, and where it begins. Equal on all ranks.
struct RunPlace {
  std::filesystem::path directory;   ///< run directory; empty: nothing is kept
  std::filesystem::path checkpoint;  ///< from which the run goes on; empty: it begins anew
  bool continues = false;            ///< whether the directory holds the run already

  bool keeps() const { return !directory.empty(); }
};

/// Follows from --run-dir and --resume; rank 0 looks at the files, and creates the folder of a new run
/// without --run-dir. Warns of checkpoints that cannot be read. Collective. Throws on all ranks Error(data)
/// if there is nothing to resume, Error(resource).
RunPlace find_run_place(const World& world, const TrainOptions& options);

/// Writes the run directory to the file in which a launcher that may restart the run looks for it, if there
/// is one. Throws Error(resource).
void tell_launcher(const RunPlace& place);

}  // namespace lockstep
