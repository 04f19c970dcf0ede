#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep {

/// Samples that a stratified division holds out: `fraction` of each class, namely the samples with the
/// smallest keys; of equal keys, the first. `labels`: the class of each sample, any number; `keys`: hashes of
/// what identifies it, as many. Numbers are rounded to the nearest, and what rounding adds or leaves is made
/// up by the next class, so that the sum is right, too. A class keeps at least one sample.
std::vector<bool> held_out(std::span<const int> labels, std::span<const std::uint64_t> keys, double fraction);

}  // namespace lockstep
