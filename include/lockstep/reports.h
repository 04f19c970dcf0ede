#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/training_options.h"

namespace lockstep {

/// A finished step. Reports are passed to observers on every rank; only rank 0 should print them.
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

/// A step whose loss, or the norm of whose gradient, is not finite: it has changed nothing. Or an epoch
/// at whose end a parameter or the loss of an evaluation is not finite.
struct NotFiniteReport {
  int epoch = 1;           ///< from 1
  std::uint64_t step = 1;  ///< from 1 over the whole run
  double loss = 0.0;       ///< sum over the samples
  double gradient_norm = 0.0;
  float learning_rate = 0.0F;
  std::string value{};                   ///< another value that is not finite, in words; else empty
  std::vector<std::uint64_t> samples{};  ///< the step's, as numbers in the training set, in its order
  OnNan handling = OnNan::stop;          ///< what the run does
  std::uint64_t back_to_step = 0;        ///< with rollback: step of the checkpoint
  int back_to_epoch = 0;                 ///< with rollback: number of epochs evaluated until then
  std::string remark{};  ///< with rollback: why not a later checkpoint, or why one stays; empty: neither

  /// Value that is not finite, in words.
  std::string what() const;
};

struct Evaluation {
  std::uint64_t samples = 0;
  std::uint64_t skipped = 0;  ///< samples that could not be read; not counted in `samples`
  double loss = 0.0;          ///< mean
  double accuracy = 0.0;      ///< in [0, 1]
  double top5 = 0.0;          ///< share of samples whose class is among the five with the largest logits
  /// Numbers of samples by [class][predicted class]; empty unless requested.
  std::vector<std::uint64_t> confusion{};
};

struct EpochReport {
  int epoch = 1;
  int epochs = 1;
  Evaluation train;  ///< over the epoch's steps, each before its own update
  Evaluation test;
  std::optional<Evaluation> validation = {};  ///< none without a validation set
  std::uint64_t steps = 0;                    ///< number of this epoch's steps
  std::uint64_t skipped_steps = 0;            ///< those that OnNan::skip and OnNan::rollback left out
  double seconds = 0.0;                       ///< training only
  /// Time for reading samples, summed over this rank's executors; CUDA: time waiting for samples.
  double load_seconds = 0.0;
  double load_share = 0.0;       ///< load_seconds as a share of the executors' working time
  bool load_is_waiting = false;  ///< whether load_seconds were spent waiting (CUDA)
  bool best = false;             ///< whether judged().accuracy exceeds that of all earlier epochs
  std::string digest{};          ///< of the parameters, as Trainer::digest returns it

  double images_per_second() const { return static_cast<double>(train.samples) / seconds; }
  /// Evaluation by which epochs are compared.
  const Evaluation& judged() const { return validation ? *validation : test; }
};

/// Digest of the parameters after a step.
struct DigestReport {
  std::uint64_t step = 0;  ///< number of steps made
  std::string digest;      ///< as Trainer::digest returns it
};

/// A rank that has computed for longer than the others, which waited for it, for some time. Times are in
/// seconds per sample of the rank's share, for reading, forward and backward pass, summed over its executors.
struct StragglerReport {
  std::uint64_t step = 0;  ///< number of steps made
  int rank = 0;
  std::string host;
  std::uint64_t steps = 0;  ///< number of steps for which it has been slow
  double seconds = 0.0;     ///< average over these steps
  double median = 0.0;      ///< that of the median rank
};

/// The first epoch with the best validation accuracy (without a validation set, test accuracy).
struct BestEpoch {
  int epoch = 0;  ///< 0: none yet
  double accuracy = 0.0;
};

/// A rank's request at a step boundary. The largest request of all ranks is carried out.
enum class Request : std::uint64_t {
  none,
  checkpoint,  ///< save the run's state and continue
  stop,        ///< end the run
};

/// Seconds of some steps on this rank, by part; load, forward, backward and fold are sums over its executors.
/// CUDA: only the total and load, the time that the GPU waited for samples read by the host; the other parts
/// are 0.
struct StepTimes {
  int steps = 0;
  bool by_part = true;  ///< whether parts were measured (not on CUDA)
  double load = 0.0;
  double forward = 0.0;
  double backward = 0.0;
  double fold = 0.0;    ///< adding the gradients of this rank's micro-batches
  double reduce = 0.0;  ///< waiting for other ranks and exchange; with norms, also the sum over the ranks
  double update = 0.0;  ///< sum over the ranks and update rule
  double total = 0.0;
  std::uint64_t samples = 0;      ///< over all ranks
  std::uint64_t own_samples = 0;  ///< of this rank
};

}  // namespace lockstep
