#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lockstep {

/// Minimum number of elements of a bucket: 8 MB of floats. This is enough for the full rate of links between
/// GPUs, and keeps the last bucket short: no computation hides its exchange.
constexpr std::size_t bucket_elements = std::size_t{1} << 21;

/// First elements of the buckets of an arena, ascending from 0. Each bucket holds whole parameters, whose
/// `offsets` in the arena ascend from 0, and at least `least` elements. The first bucket, whose gradients are
/// final last, holds the rest.
std::vector<std::size_t> cut_into_buckets(std::span<const std::size_t> offsets, std::size_t elements,
                                          std::size_t least = bucket_elements);

}  // namespace lockstep
