#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "lockstep/dataset.h"
#include "lockstep/network.h"

namespace lockstep {

class World;

/// A network on this rank, in pieces: what the Trainer uses, for those who write the training loop
/// themselves (examples/from_scratch.cpp). Parameters, and anything of their kind, are flat arrays of
/// `elements()` floats.
class Replica {
 public:
  /// Computes micro-batches of up to `micro_batch` images of `dataset`, on the calling thread (which flushes
  /// denormals to zero while it lives). Network and data set outlive it. Throws Error(usage) when they do not
  /// fit; so do the other methods for arrays of another length than elements().
  Replica(const Network& network, const Dataset& dataset, int micro_batch);
  ~Replica();

  std::size_t elements() const;
  /// Writes the first values: those of every run with this seed.
  void initialize(std::uint64_t seed, std::span<float> parameters) const;

  struct Result {
    double loss = 0.0;          ///< sum over the samples
    std::uint64_t correct = 0;  ///< samples whose class has the largest logit
  };
  /// Loss of the samples `ids` and its gradient, both summed over them (not averaged). Overwrites
  /// `gradient`. Throws Error(data) for a sample that cannot be read.
  Result forward_backward(std::span<const std::uint64_t> ids, std::span<const float> parameters,
                          std::span<float> gradient);

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
