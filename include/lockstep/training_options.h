#pragma once

#include <cstdint>
#include <string>

#include "lockstep/execution.h"
#include "lockstep/input.h"
#include "lockstep/optimizer.h"
#include "lockstep/schedule.h"

namespace lockstep {

/// How the gradients of the ranks are added.
enum class Reduce {
  automatic,  ///< canonical on CPU ranks, ring on CUDA ranks
  canonical,  ///< in the order of one fixed tree: the same bits on any number of ranks
  ring,       ///< the library's allreduce: bits depend on the number of ranks
};

/// Everything that the result of a run depends on, and (`execution`) what mostly changes its time.
struct TrainerOptions {
  int epochs = 10;
  int batch_size = 256;        ///< global: samples of one step over all ranks
  int micro_batches = 0;       ///< 0: default_micro_batches
  float learning_rate = 0.1F;  ///< the largest; `schedule` says how it goes over the run
  ScheduleOptions schedule = {};
  OptimizerOptions optimizer = {};
  /// Above 0: averages of the parameters and statistics, averages = decay * averages + (1 - decay) * values
  /// after each step, are what is evaluated and saved.
  double model_ema_decay = 0.0;
  int early_stopping = 0;  ///< end after this many epochs without a better test accuracy; 0: never
  InputOptions input = {};
  float label_smoothing = 0.0F;  ///< share of every target that is spread evenly over the classes
  std::uint64_t seed = 0;
  bool drop_last = false;       ///< leave out the last batch of an epoch when it is short
  std::uint64_t max_steps = 0;  ///< end after this many steps; 0: no limit
  Reduce reduce = Reduce::automatic;

  ExecutionOptions execution = {};
};

/// Number of micro-batches that `micro_batches = 0` stands for: the largest power of two that divides the
/// batch and leaves at least 32 samples, or 128 where every rank computes with CUDA (`device`: "cpu" or
/// "cuda").
int default_micro_batches(int batch_size, const std::string& device = "cpu");

struct LoadOptions {
  /// The last layer keeps its values where the file has other shapes for it, or has it not: for training on
  /// with other classes.
  bool reset_head = false;
};

}  // namespace lockstep
