#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lockstep {

/// Samples that a stratified division holds out: `fraction` of each class, namely the samples with the
/// smallest keys; of equal keys, the first. `labels`: the class of each sample, any number; `keys`: hashes of
/// what identifies it, as many. Numbers are rounded to the nearest, and what rounding adds or leaves is made
/// up by the next class, so that the sum is right, too. A class keeps at least one sample.
std::vector<bool> held_out(std::span<const int> labels, std::span<const std::uint64_t> keys, double fraction);

/// Classes by which samples with any number of labels are divided: of the labels of a sample, the one that
/// the fewest samples have, or the first of these; without labels: the number of labels. `targets`, 0 or 1:
/// [sample][label].
std::vector<int> rarest_labels(std::span<const float> targets, std::size_t labels);

}  // namespace lockstep
