#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lockstep {

/// Stratified choice of samples to hold out: [sample] whether it is held out. From each class, takes
/// `fraction` of the samples, those with the smallest keys (if keys are equal, the first samples). `labels`:
/// [sample] class, any number; `keys`: [sample] hash of what identifies the sample. Counts are rounded to the
/// nearest integer, and rounding errors are passed on to the next class, so that the total is right, too.
/// Each class keeps at least one sample.
std::vector<bool> held_out(std::span<const int> labels, std::span<const std::uint64_t> keys, double fraction);

/// Classes for held_out() of samples with any number of labels: [sample] the rarest of the sample's labels
/// (the first one if several are equally rare), or the number `labels` for a sample without labels.
/// `targets`: [sample][label], 0 or 1.
std::vector<int> rarest_labels(std::span<const float> targets, std::size_t labels);

}  // namespace lockstep
