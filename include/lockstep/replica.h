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

/// Options of a replica, as in TrainerOptions.
struct ReplicaOptions {
  int micro_batch = 32;     ///< maximum number of samples per call of forward_backward
  InputOptions input = {};  ///< `strict` has no effect: samples that cannot be read are errors
  AugmentOptions augment = {};
  std::uint64_t seed = 0;  ///< seed of initial values, dropout and augmentation
};

/// A network on this rank, for custom training loops (examples/from_scratch.cpp). Parameters, gradients and
/// optimizer states are flat arrays of `elements()` floats, in which parameter i of the network begins at
/// `offset(i)`; the gaps between parameters are 0.
///
/// Running statistics (parameters with statistic_momentum m > 0) must not be passed to an optimizer: their
/// "gradient" is the sum of the observed values over the samples. A step with n samples computes
/// value = float(1 - m) * value + float(m) * (sum * (1 / n)).
class Replica {
 public:
  /// The calling thread flushes denormals to zero as long as the replica lives. Network and data set must
  /// outlive the replica, and must not change while it lives. Throws Error(usage) if they do not fit each
  /// other, Error(data) for labels or targets that are invalid for the task. The other methods throw
  /// Error(usage) for arrays whose length is not elements(), and for a parameter that the network lacks.
  Replica(const Network& network, const Dataset& dataset, const ReplicaOptions& options = {});
  ~Replica();

  std::size_t elements() const;
  std::size_t offset(std::size_t parameter) const;
  /// Writes the initial values, the same in every run with this seed.
  void initialize(std::span<float> parameters) const;

  /// Position of a micro-batch in a run; its random numbers depend on it.
  struct Position {
    std::uint32_t epoch = 0;   ///< from 0
    std::uint32_t number = 0;  ///< number of the micro-batch in the epoch, from 0
  };

  struct Result {
    double loss = 0.0;          ///< sum over the samples, for targets as Dataset::targets returns them
    std::uint64_t correct = 0;  ///< classification: number of samples whose class has the largest logit
  };
  /// Computes the loss of the samples `ids` and its gradient, both summed over the samples, not averaged.
  /// Overwrites `gradient`. Runs on the calling thread, which flushes denormals to zero meanwhile. Throws
  /// Error(data) for a sample that cannot be read; Error(usage) for an id that the data set lacks, for no
  /// samples, and for more than `micro_batch` samples.
  Result forward_backward(std::span<const std::uint64_t> ids, Position position,
                          std::span<const float> parameters, std::span<float> gradient);

  /// Digest of `parameters` in the format of Trainer::digest.
  std::string digest(std::span<const float> parameters) const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// Sum of the gradients of a step's micro-batches over all ranks, in the order of one fixed tree: the same
/// bits on any number of ranks.
class GradientSum {
 public:
  /// `elements`: length of a gradient, equal on all ranks. The world must outlive this object. Collective.
  /// Throws Error(resource) when memory is short.
  GradientSum(const World& world, std::size_t elements);
  ~GradientSum();

  /// Starts a step of `micro_batches` micro-batches, at least 1, over all ranks. Returns this rank's share of
  /// them, [first, second). Collective. Throws Error(usage) for 0.
  std::pair<std::uint32_t, std::uint32_t> start(std::uint32_t micro_batches);
  /// Memory for the gradient of this rank's next micro-batch, valid until add(); local.
  std::span<float> next();
  /// Adds the gradient that was written to next(), flushing denormals to zero; local.
  void add();
  /// Returns the sum of all ranks' gradients, on every rank, once all of this rank's gradients were added;
  /// valid until the next start. Collective.
  std::span<const float> all_reduce();

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace lockstep
