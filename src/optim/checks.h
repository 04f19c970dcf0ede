#pragma once

#include <initializer_list>
#include <string_view>

#include "lockstep/optimizer.h"

/// What rules check of their options. All throw Error(usage) with the option as it is typed, and its value.
namespace lockstep {

/// Refuses options that belong to other rules: `used` names this rule's, of --momentum, --nesterov, --beta1,
/// --beta2, --opt-eps, --trust-coeff, --always-adapt.
void check_used(const OptimizerOptions& options, std::initializer_list<std::string_view> used);
/// A momentum in [0, 1), and one above 0 for Nesterov's rule.
void check_momentum(const OptimizerOptions& options);
/// Betas in [0, 1), as floats too.
void check_betas(const OptimizerOptions& options);
/// options.eps, or `otherwise` for 0; above 0.
double eps_or(double otherwise, const OptimizerOptions& options);
/// Weight decay, largest norm and trust coefficient, which have the same bounds for all rules.
void check_common(const OptimizerOptions& options);

}  // namespace lockstep
