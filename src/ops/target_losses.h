#pragma once

#include "ops/elementwise.h"

/// Losses with one numeric target for each output of the network, shared by CPU vectors and GPU threads like
/// ops/elementwise.h. The loss of a sample is the mean over its outputs. Each loss defines, for a single
/// output z with target t:
///   gradient(z, t)              derivative of the loss with respect to z
///   decay(z)                    the part of value() that is computed faster with vectors
///   value(z, t, decay(z))       loss in double precision
///   is_right(z, t)              whether the output predicts the target; always false for squared errors
namespace lockstep {

/// (z - t)^2
template <class A>
struct SquaredError {
  using V = typename A::Value;
  LOCKSTEP_HD static V gradient(V z, V t) {
    const V difference = z - t;
    return difference + difference;
  }
  LOCKSTEP_HD static V decay(V /*z*/) { return A::number(0.0F); }
  LOCKSTEP_HD static double value(float z, float t, float /*decay*/) {
    const double difference = static_cast<double>(z) - static_cast<double>(t);
    return difference * difference;
  }
  LOCKSTEP_HD static bool is_right(float /*z*/, float /*t*/) { return false; }
};

/// Binary cross-entropy with logits: -t log s(z) - (1 - t) log(1 - s(z)) = max(z, 0) - z t + log(1 + e^-|z|),
/// where s is the sigmoid and t is in [0, 1].
template <class A>
struct BinaryCrossEntropy {
  using V = typename A::Value;
  LOCKSTEP_HD static V gradient(V z, V t) { return sigmoid<A>(z) - t; }
  LOCKSTEP_HD static V decay(V z) { return exponential<A>(A::negative(A::absolute(z))); }
  LOCKSTEP_HD static double value(float z, float t, float decay) {
    const auto logit = static_cast<double>(z);
    const double above = logit <= 0.0 ? 0.0 : logit;  // NaN stays NaN
    return above - logit * static_cast<double>(t) + logarithm_above_one<A>(1.0 + static_cast<double>(decay));
  }
  LOCKSTEP_HD static bool is_right(float z, float t) { return (z > 0.0F) == (t > 0.5F); }
};

}  // namespace lockstep
