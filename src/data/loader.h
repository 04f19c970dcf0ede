#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "data/bad_samples.h"
#include "data/transform.h"
#include "lockstep/dataset.h"
#include "lockstep/sampler.h"

namespace lockstep {

/// Positions [first, first + samples) of an epoch.
struct SampleRange {
  std::uint64_t first = 0;
  std::uint64_t samples = 0;
  bool operator==(const SampleRange&) const = default;
};

/// The order in which an epoch visits the samples.
struct SampleOrder {
  std::uint32_t epoch = 0;
  std::optional<Permutation> permutation{};  ///< none: the data set's own order
  /// Safe from any thread.
  std::uint64_t id(std::uint64_t position) const { return permutation ? (*permutation)(position) : position; }
};

/// Which samples a leaf (micro-batch) of the step in progress consists of, and what is done to them. Set
/// between steps by one thread; read during a step by all executors.
class Loader {
 public:
  /// Leaves hold `micro_batch` samples; the last of a step may hold fewer. Throws as Transform.
  Loader(const Dataset& dataset, std::uint32_t micro_batch, const InputOptions& input = {},
         const Transform::Use& use = {});

  /// Positions follow the epoch's permutation; before the first call, the data set's own order.
  void shuffle(std::uint64_t seed, std::uint32_t epoch);

  /// The step in progress: positions [first, first + samples).
  void set_step(std::uint64_t first, std::uint64_t samples);
  /// Leaves that a step of `samples` samples has.
  std::uint32_t leaves(std::uint64_t samples) const;
  /// Samples of leaf `leaf` of the step in progress.
  std::uint32_t samples(std::uint32_t leaf) const;
  std::uint32_t micro_batch() const { return micro_batch_; }
  const Dataset& dataset() const { return dataset_; }
  const Transform& transform() const { return transform_; }
  /// Where readers of the data set tell what they could not read.
  BadSamples& bad_samples() const { return bad_samples_; }
  std::uint32_t epoch() const { return order_.epoch; }
  const SampleOrder& order() const { return order_; }
  /// Position in the epoch of the first sample of leaf `leaf`.
  std::uint64_t position(std::uint32_t leaf) const { return first_ + std::uint64_t{leaf} * micro_batch_; }
  /// Position of leaf `leaf` among the epoch's micro-batches.
  std::uint32_t number(std::uint32_t leaf) const;

  /// Id of sample `i` of leaf `leaf`.
  std::uint64_t id(std::uint32_t leaf, std::uint32_t i) const;

 private:
  const Dataset& dataset_;
  std::uint32_t micro_batch_;
  Transform transform_;
  mutable BadSamples bad_samples_;
  SampleOrder order_;
  std::uint64_t first_ = 0;
  std::uint64_t samples_ = 0;
};

}  // namespace lockstep
