#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "lockstep/dataset.h"
#include "lockstep/input.h"
#include "lockstep/network.h"

namespace lockstep {

class World;

/// What a replica is made for; as in TrainerOptions.
struct ReplicaOptions {
  int micro_batch = 32;     ///< most samples that are computed at once
  InputOptions input = {};  ///< samples that cannot be read are errors, whatever `strict` says
  AugmentOptions augment = {};
  std::uint64_t seed = 0;  ///< of everything random: first values, dropout, augmentation
};

/// A network on this rank, in pieces: what the Trainer uses, for those who write the training loop
/// themselves (examples/from_scratch.cpp). Parameters, and anything of their kind, are flat arrays of
/// `elements()` floats, where parameter i of the network begins at `offset(i)`; what is in none is 0.
///
/// Running statistics (Parameter::statistic_momentum m, not 0) are among the parameters, but no optimizer may
/// touch them: their "gradient" is the sum over the samples of what was observed. With n samples in the step,
/// value = float(1 - m) * value + float(m) * (sum * (1 / n)).
class Replica {
 public:
  /// Computes micro-batches of images of `dataset`, on the calling thread (which flushes denormals to zero
  /// while it lives). Network and data set outlive it. Throws Error(usage) when they do not fit; so do the
  /// other methods for arrays of another length than elements().
  Replica(const Network& network, const Dataset& dataset, const ReplicaOptions& options = {});
  ~Replica();

  std::size_t elements() const;
  std::size_t offset(std::size_t parameter) const;
  /// Writes the first values: those of every run with this seed.
  void initialize(std::span<float> parameters) const;

  /// Which micro-batch of a run: random numbers are drawn for it.
  struct Position {
    std::uint32_t epoch = 0;   ///< from 0
    std::uint32_t number = 0;  ///< in the epoch, from 0
  };

  struct Result {
    double loss = 0.0;          ///< sum over the samples
    std::uint64_t correct = 0;  ///< samples whose class has the largest logit
  };
  /// Loss of the samples `ids` and its gradient, both summed over them (not averaged). Overwrites
  /// `gradient`. Throws Error(data) for a sample that cannot be read.
  Result forward_backward(std::span<const std::uint64_t> ids, Position position,
                          std::span<const float> parameters, std::span<float> gradient);

  /// As Trainer::digest.
  std::string digest(std::span<const float> parameters) const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// Sums over the gradients of each step's micro-batches, wherever they were computed, in the order of one
/// fixed tree: the same bits for any number of ranks. All ranks make the same calls.
class GradientSum {
 public:
  GradientSum(const World& world, std::size_t elements);
  ~GradientSum();

  /// Starts a step of `micro_batches` in all; those of this rank are [first, second).
  std::pair<std::uint32_t, std::uint32_t> start(std::uint32_t micro_batches);
  /// Where the gradient of this rank's next micro-batch goes; `add` says that it is there.
  std::span<float> next();
  void add();
  /// Sum of all ranks' gradients, on every rank; valid until the next start.
  std::span<const float> all_reduce();

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace lockstep
