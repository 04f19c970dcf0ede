#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/train/data_warnings.h"
#include "cli/train/run_place.h"
#include "cli/train/stop_line.h"
#include "cli/train/train_options.h"
#include "lockstep/dataset.h"
#include "lockstep/network.h"
#include "lockstep/stop_requests.h"
#include "lockstep/trainer.h"
#include "lockstep/world.h"
#include "run/environment.h"
#include "run/recorder.h"

namespace lockstep {

/// A run of `lockstep train` on the ranks of a world: data, network and trainer, the place where the run is
/// kept, and its record. All ranks construct one.
class TrainingRun {
 public:
  /// Opens everything, and restores or initialises the state. `world` and `stops` must outlive the run.
  /// `environment`: environment of the process, with its command line. Collective. Throws on all ranks what
  /// opening data, models, devices and checkpoints throws.
  TrainingRun(World& world, const TrainOptions& options, StopRequests& stops, Environment environment);

  /// Trains. Returns the exit status: 0, or Category::stopped for a run that was stopped. Collective. Throws
  /// what Trainer::fit throws, and the first failure to write results.
  int operator()();

 private:
  bool leads() const { return world_.rank() == 0; }
  void restore();
  std::string environment_text(Environment environment) const;
  void open_record(Environment environment);
  void observe();
  void check_place();
  void look_at(const CheckpointReport& checkpoint);
  void save_best();
  void finish();
  int end_stopped();

  World& world_;
  StopRequests& stops_;
  const std::string start_ = own_start();
  RunPlace place_;  ///< unlocked after the trainer, which may still be writing a checkpoint, is destroyed
  DatasetPair data_;
  const TrainOptions options_;  ///< by_data is resolved
  std::unique_ptr<Network> network_;
  Trainer trainer_;
  std::vector<RankGroup> map_;
  DataWarnings warnings_;
  std::optional<Recorder> recorder_;
  std::optional<std::uint64_t> unsaved_best_;  ///< step of the best model, if it could not be written
};

}  // namespace lockstep
