#pragma once

#include <cstdint>

/// Functions of the C library whose results differ between its versions, here the same bits everywhere.
namespace lockstep {

/// cos(pi * x) for x in [0, 1], within 1e-15.
double cos_pi(double x);
/// base to a power, by squaring.
double integer_power(double base, std::uint64_t exponent);

}  // namespace lockstep
