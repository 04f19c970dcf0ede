#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lockstep {

/// Elements of a bucket: 8 MB of floats, enough for the full rate of the links between GPUs, and little
/// enough that the last one, which nothing hides, is short.
constexpr std::size_t bucket_elements = std::size_t{1} << 21;

/// Where the buckets of an arena begin, ascending from 0. Each holds whole parameters, whose `offsets` in the
/// arena ascend from 0, and at least `least` elements; the first, whose gradients are there last, holds what
/// is left.
std::vector<std::size_t> cut_into_buckets(std::span<const std::size_t> offsets, std::size_t elements,
                                          std::size_t least = bucket_elements);

}  // namespace lockstep
