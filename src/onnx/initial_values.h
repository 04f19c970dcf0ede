#pragma once

#include <optional>
#include <span>

#include "lockstep/network.h"

namespace lockstep {

/// Rule from which the weights of a layer may have been drawn; none: no rule is likely to give them, as after
/// training. A rule is found if mean, variance, kurtosis and maximum are within five standard errors of it.
///
/// `shape`: that of the weights; `bias`: empty if the layer has none. `standard` and `he_fan_out` come first,
/// then normal and uniform distributions of any scale: of the scales that fit, the one with the fewest
/// digits.
std::optional<Initializer> find_initializer(std::span<const float> weights,
                                            std::span<const std::int64_t> shape, std::span<const float> bias);

/// Same for the weights of a normalization: zeros, ones, or none.
std::optional<Initializer> find_constant_initializer(std::span<const float> weights);

}  // namespace lockstep
