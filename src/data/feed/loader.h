#pragma once

#include <algorithm>
#include <cstdint>

#include "data/feed/transform.h"
#include "data/sets/bad_samples.h"
#include "lockstep/dataset.h"

namespace lockstep {

/// Positions [first, first + samples) of an epoch.
struct SampleRange {
  std::uint64_t first = 0;
  std::uint64_t samples = 0;
};

/// Micro-batches (leaves) of the step in progress, and the preparation of their samples. One thread changes
/// the loader between steps; all executors read it during a step.
class Loader {
 public:
  /// Leaves have `micro_batch` samples; the last one of a step may have fewer. Throws the errors of
  /// Transform.
  Loader(const Dataset& dataset, std::uint32_t micro_batch, const InputOptions& input = {},
         const AugmentOptions& augment = {}, std::uint64_t seed = 0)
      : dataset_(dataset),
        micro_batch_(micro_batch),
        transform_(input, dataset, augment, seed),
        bad_samples_(input.strict),
        rule_(transform_.rule()) {}

  /// Shuffles the samples for epoch `number`. Before the first call, samples are in the data set's order.
  void start_epoch(std::uint32_t number) { rule_.start_epoch(number); }

  /// Sets the step in progress to the positions [first, first + samples) of the epoch.
  void set_step(std::uint64_t first, std::uint64_t samples) {
    first_ = first;
    samples_ = samples;
  }
  /// Number of leaves of a step with `samples` samples.
  std::uint32_t leaves(std::uint64_t samples) const {
    return static_cast<std::uint32_t>((samples + micro_batch_ - 1) / micro_batch_);
  }
  /// Number of samples of leaf `leaf` of the step in progress.
  std::uint32_t samples(std::uint32_t leaf) const {
    const std::uint64_t begin = std::uint64_t{leaf} * micro_batch_;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(micro_batch_, samples_ - begin));
  }
  std::uint32_t micro_batch() const { return micro_batch_; }
  const Dataset& dataset() const { return dataset_; }
  const Transform& transform() const { return transform_; }
  /// Samples that could not be read.
  BadSamples& bad_samples() const { return bad_samples_; }
  /// Rule of the epoch in progress.
  const MicroBatchRule& rule() const { return rule_; }
  /// Position in the epoch of the first sample of leaf `leaf`.
  std::uint64_t position(std::uint32_t leaf) const { return first_ + std::uint64_t{leaf} * micro_batch_; }
  /// Index of leaf `leaf` among the epoch's micro-batches.
  std::uint32_t number(std::uint32_t leaf) const {
    return static_cast<std::uint32_t>(first_ / micro_batch_) + leaf;
  }

 private:
  const Dataset& dataset_;
  std::uint32_t micro_batch_;
  Transform transform_;
  mutable BadSamples bad_samples_;
  MicroBatchRule rule_;
  std::uint64_t first_ = 0;
  std::uint64_t samples_ = 0;
};

}  // namespace lockstep
