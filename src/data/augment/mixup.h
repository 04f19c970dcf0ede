#pragma once

#include <cstdint>

namespace lockstep {

/// Share of a sample itself when it is mixed with its partner (Zhang et al., "mixup: Beyond empirical risk
/// minimization", 2018): Beta(alpha, alpha), one number for micro-batch `number` of an epoch, alpha > 0.
float mixup_share(double alpha, std::uint64_t seed, std::uint32_t epoch, std::uint32_t number);

}  // namespace lockstep
