#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace lockstep {

/// Reports passed to observers on every rank (only rank 0 should print).
struct StepReport {
  int epoch = 1;              ///< from 1
  int epochs = 1;             ///< of the whole run
  std::uint64_t step = 1;     ///< from 1 over the whole run
  std::uint64_t steps = 0;    ///< of the whole run; 0: unknown
  std::uint64_t samples = 0;  ///< of all ranks
  double loss = 0.0;          ///< mean over the global batch, before the update
  float learning_rate = 0.0F;
  double seconds = 0.0;
};
struct Evaluation {
  std::uint64_t samples = 0;
  std::uint64_t skipped = 0;  ///< samples that could not be read; not counted in `samples`
  double loss = 0.0;          ///< mean
  double accuracy = 0.0;      ///< in [0, 1]
  double top5 = 0.0;          ///< share of samples whose class is among the five with the largest logits
  /// Samples by [class][predicted class]; empty where it was not asked for.
  std::vector<std::uint64_t> confusion{};
};
struct EpochReport {
  int epoch = 1;
  int epochs = 1;
  Evaluation train;  ///< over the epoch's steps, each before its update
  Evaluation test;
  std::optional<Evaluation> validation = {};  ///< of the validation set, where there is one
  std::uint64_t steps = 0;                    ///< of this epoch
  double seconds = 0.0;                       ///< training only
  double load_seconds = 0.0;  ///< of this rank's executors together, reading samples; CUDA: waiting for them
  double load_share = 0.0;    ///< part of their working time that this is
  bool load_is_waiting = false;  ///< as on CUDA
  bool best = false;  ///< no epoch before had such a validation accuracy (without one, test accuracy)

  double images_per_second() const { return static_cast<double>(train.samples) / seconds; }
  /// Evaluation by which epochs are compared.
  const Evaluation& judged() const { return validation ? *validation : test; }
};

/// The epoch with the best validation accuracy (without a validation set, test accuracy), the first of
/// equals.
struct BestEpoch {
  int epoch = 0;  ///< 0: none yet
  double accuracy = 0.0;
};

/// What a rank asks for at a step boundary; of several ranks' requests the largest counts.
enum class Request : std::uint64_t {
  none,
  checkpoint,  ///< keep the run's state, and go on
  stop,        ///< end the run here
};

/// Seconds of some steps on this rank, by part; the first four are sums over its executors. CUDA: the total,
/// and as load the time that the GPU waited for samples which the host reads; the others are 0.
struct StepTimes {
  int steps = 0;
  bool by_part = true;  ///< not on CUDA
  double load = 0.0;
  double forward = 0.0;
  double backward = 0.0;
  double fold = 0.0;    ///< adding up the micro-batches' gradients
  double reduce = 0.0;  ///< waiting for other ranks, exchange, sum over the ranks where norms are wanted
  double update = 0.0;  ///< sum over the ranks, update rule
  double total = 0.0;
  std::uint64_t samples = 0;  ///< over all ranks
};

}  // namespace lockstep
