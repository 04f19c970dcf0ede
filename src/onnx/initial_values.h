#pragma once

#include <optional>
#include <span>

#include "lockstep/network.h"

namespace lockstep {

/// Rule by which the weights of a layer may have been initialized; nullopt if no rule is likely, as after
/// training. A rule fits if mean, variance and kurtosis of the weights are within five standard errors of the
/// values that the rule implies, and no weight is outside the range of a uniform distribution.
///
/// `shape`: shape of the weights; `bias`: empty if the layer has none. Tries constants, then `standard` and
/// `he_fan_out`, then normal and uniform distributions of any scale, with the fitting scale that has the
/// fewest digits.
std::optional<Initializer> find_initializer(std::span<const float> weights,
                                            std::span<const std::int64_t> shape, std::span<const float> bias);

/// Same for the weights of a normalization: zeros, ones or nullopt.
std::optional<Initializer> find_constant_initializer(std::span<const float> weights);

}  // namespace lockstep
