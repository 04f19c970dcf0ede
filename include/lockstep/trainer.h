#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lockstep/dataset.h"
#include "lockstep/execution.h"
#include "lockstep/input.h"
#include "lockstep/model_file.h"
#include "lockstep/network.h"
#include "lockstep/optimizer.h"
#include "lockstep/schedule.h"

namespace lockstep {

class World;

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
/// batch and leaves at least 32 samples on CPU ranks, 128 on CUDA ranks (`device`: as resolve_device gives
/// it).
int default_micro_batches(int batch_size, const std::string& device = "cpu");

/// What happened; passed to observers on every rank (only rank 0 should print).
struct StepReport {
  int epoch = 1;            ///< from 1
  std::uint64_t step = 1;   ///< from 1 over the whole run
  std::uint64_t steps = 0;  ///< of the whole run
  std::uint64_t samples = 0;
  double loss = 0.0;  ///< mean over the global batch, before the update
  float learning_rate = 0.0F;
  double seconds = 0.0;
};
struct Evaluation {
  std::uint64_t samples = 0;
  std::uint64_t left_out = 0;  ///< further samples, that could not be read
  double loss = 0.0;           ///< mean
  double accuracy = 0.0;       ///< in [0, 1]
  double top5 = 0.0;           ///< share of samples whose class is among the five with the largest logits
  /// Samples by [class][predicted class]; empty where it was not asked for.
  std::vector<std::uint64_t> confusion{};
};
struct EpochReport {
  int epoch = 1;
  int epochs = 1;
  Evaluation train;  ///< over the epoch's steps, each before its update
  Evaluation test;
  std::uint64_t steps = 0;    ///< of this epoch
  double seconds = 0.0;       ///< training only
  double load_seconds = 0.0;  ///< of this rank's executors together, reading samples; CUDA: waiting for them
  double load_share = 0.0;    ///< part of their working time that this is
  bool load_is_waiting = false;  ///< as on CUDA
  bool best = false;             ///< no epoch before had such a test accuracy
};

/// The epoch with the best test accuracy, the first of equals.
struct BestEpoch {
  int epoch = 0;  ///< 0: none yet
  double accuracy = 0.0;
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
  double reduce = 0.0;  ///< waiting for other executors and ranks, exchange, sum over the ranks
  double update = 0.0;
  double total = 0.0;
  std::uint64_t samples = 0;  ///< over all ranks
};

struct EvaluationOptions {
  bool confusion = false;   ///< whether to count samples by class and predicted class
  InputOptions input = {};  ///< as in training; nothing random is done
  int micro_batch = 32;     ///< samples whose losses are added up at once, as in training
  ExecutionOptions execution = {};
};
/// Mean loss and accuracy of a saved model over a data set, each sample once, spread over any number of
/// ranks. Collective; throws on all ranks, Error(data) also when no sample can be read.
Evaluation evaluate(const World& world, const Network& network, const ModelFile& file, const Dataset& dataset,
                    const EvaluationOptions& options);

struct LoadOptions {
  /// The last layer keeps its values where the file has other shapes for it, or has it not: for training on
  /// with other classes.
  bool reset_head = false;
};

/// Digest of the parameters in a model file, as Trainer::digest gives it. Throws Error(data).
std::string digest(const Network& network, const ModelFile& file);

/// Trains a network on all ranks of the world. Every rank makes one with equal arguments and calls the same
/// methods; parameters are equal on all ranks at every return. The network, data sets and world outlive it.
class Trainer {
 public:
  /// Throws Error(usage) for impossible options (batch not divisible by micro-batches, more ranks than
  /// micro-batches, ...) and when ranks were given different options or data, Error(resource) when memory is
  /// short; on all ranks. While it lives, the calling thread may be bound to a core and flushes denormals to
  /// zero.
  Trainer(const World& world, const Network& network, const Dataset& train, const Dataset& test,
          const TrainerOptions& options);
  ~Trainer();

  std::function<void(const StepReport&)> on_step;
  std::function<void(const EpochReport&)> on_epoch;

  /// Trains all epochs, or fewer by early_stopping and max_steps. Once, of a trainer that has made no steps:
  /// else Error(usage). Throws Error(data) naming step and learning
  /// rate when the loss, or the norm of a gradient to be clipped, is not finite; that step changes nothing.
  /// And when none of an epoch's training samples, or of the test samples, can be read.
  void fit();
  BestEpoch best() const;
  bool stopped_early() const;  ///< by early_stopping, before the last epoch
  /// Mean loss and accuracy over `dataset`, each sample once, spread over the ranks. Collective. Throws
  /// Error(data) when none can be read.
  Evaluation evaluate(const Dataset& dataset);
  /// The next steps on the training set without epochs or reports, from step 1 on: for measurements. As many
  /// of them as are given to the device before the host looks at what they found, at most `most` and up to
  /// the end of the data set; CPU: one. Collective.
  StepTimes steps(int most);

  /// Takes parameters from a model file: all names, exact shapes, but for what `options` say. Throws
  /// Error(usage) when ranks were given different files.
  /// num_batches_tracked of PyTorch's batch norm may be there and is ignored. Throws Error(data).
  void load(const ModelFile& file, const LoadOptions& options = {});
  /// Writes the parameters, or their averages as of the last evaluation, as a PyTorch state_dict with
  /// `metadata` added to the file's; num_batches_tracked is 0. Call on one rank.
  void save(const std::string& file, const std::map<std::string, std::string>& metadata = {}) const;
  /// "xxh3:" and 32 hexadecimal digits: XXH3-128 of all parameters and statistics as trained (not their
  /// averages), in the network's order, little-endian.
  std::string digest() const;

  int micro_batches() const;
  Reduce reduce() const;
  std::string device() const;  ///< "cpu" or "cuda"
  int threads() const;
  /// Description of how ranks exchange data: "none", "shared memory" or "messages".
  std::string transport() const;
  /// What this rank computes on: an instruction set, or a GPU's name.
  std::string processor() const;
  /// Which of the GPU library's engines compute what, for the run's record: JSON, as
  /// ExecutionOptions::plan_cache holds it. CPU: empty.
  std::string engines() const;
  std::uint64_t steps_per_epoch() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace lockstep
