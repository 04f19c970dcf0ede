#pragma once

#include <cstdint>
#include <string>

#include "lockstep/dataset.h"
#include "lockstep/input.h"
#include "lockstep/optimizer.h"
#include "lockstep/schedule.h"
#include "lockstep/training_options.h"
#include "report/recorder.h"

namespace lockstep {

enum class BatchScaling { linear, square_root };

/// What `lockstep train` was asked to do. The defaults are those of the command line.
struct TrainOptions {
  std::string model = "lenet";
  std::string dataset = "fashion-mnist";
  DatasetOptions data;
  InputOptions input;
  std::string init_from;    ///< model file to start from; empty: first values from the seed
  bool reset_head = false;  ///< the last layer may differ from that of init_from

  std::uint32_t epochs = 10;
  std::uint32_t batch_size = 256;   ///< samples of a step over all ranks
  std::uint32_t micro_batches = 0;  ///< parts of a batch; 0: auto. Divides batch_size
  double learning_rate = 0.1;
  OptimizerOptions optimizer;
  ScheduleOptions schedule;
  std::uint32_t base_batch_size = 0;  ///< batch that the learning rate is for; 0: the run's
  BatchScaling base_scale = BatchScaling::linear;
  bool model_ema = false;  ///< averaged weights are evaluated and saved
  double model_ema_decay = 0.9998;
  std::uint32_t early_stopping = 0;  ///< epochs without a better test accuracy; 0: never
  double label_smoothing = 0.0;
  std::uint64_t seed = 0;
  bool drop_last = false;
  std::uint64_t max_steps = 0;  ///< over the whole run; 0: no limit

  Reduce reduction = Reduce::automatic;
  ExecutionOptions execution;

  std::string run_directory;  ///< empty: none is written
  std::string save_model;     ///< file of the trained model; empty: none is written
  std::uint32_t log_interval = 1;
  Progress progress = Progress::automatic;
  bool quiet = false;

  bool operator==(const TrainOptions&) const = default;
};

}  // namespace lockstep
