#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "lockstep/dataset.h"
#include "lockstep/model_file.h"
#include "lockstep/network.h"
#include "lockstep/reports.h"
#include "lockstep/training_options.h"

namespace lockstep {

class World;

/// Trains a network on all ranks of the world. Every rank makes one with equal arguments and calls the same
/// methods; parameters are equal on all ranks at every return. The network, data sets and world outlive it.
class Trainer {
 public:
  /// Throws Error(usage) for impossible options (batch not divisible by micro-batches, more ranks than
  /// micro-batches, ...) and when ranks were given different options or data, Error(resource) when memory is
  /// short; on all ranks. While it lives, the calling thread may be bound to a core and flushes denormals to
  /// zero.
  /// `validation`, where there is one, is what best() and early_stopping are about, instead of `test`.
  Trainer(const World& world, const Network& network, const Dataset& train, const Dataset& test,
          const TrainerOptions& options, const Dataset* validation = nullptr);
  ~Trainer();

  std::function<void(const StepReport&)> on_step;
  std::function<void(const EpochReport&)> on_epoch;
  /// Called by fit() at step boundaries, once the steps' outcomes are known: what this rank asks for. The
  /// largest request of all ranks is `act`ed on by all of them, at the same step. Where no rank has `ask`,
  /// ranks exchange nothing. Both are the same from one epoch's begin to its end.
  std::function<Request()> ask;
  std::function<void(Request)> act;

  /// Trains what is left of all epochs, or fewer by early_stopping, max_steps and Request::stop. Throws
  /// Error(data) naming step and learning rate when the loss, or the norm of a gradient to be clipped, is not
  /// finite; that step changes nothing. And when none of an epoch's training samples, or of the test samples,
  /// can be read.
  void fit();
  BestEpoch best() const;
  bool stopped_early() const;  ///< by early_stopping, before the last epoch
  /// Mean loss and accuracy over `dataset`, each sample once, spread over the ranks. Collective. Throws
  /// Error(data) when none can be read.
  Evaluation evaluate(const Dataset& dataset);
  /// The next steps on the training set, without evaluation and reports: for measurements. As many as are
  /// submitted together (CPU: one), at most `max` and up to the end of the epoch. Collective.
  StepTimes steps(int max);

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
  DeviceKind device() const;  ///< cpu or cuda
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
