#include "optim/lars.h"

#include "optim/checks.h"
#include "optim/rules.h"

namespace lockstep {

OptimizerRule make_lars(const OptimizerOptions& options) {
  check_used(options, {"--momentum", "--nesterov", "--opt-eps", "--trust-coeff", "--always-adapt"});
  check_momentum(options);
  return with_momentum(options, [&]<Momentum momentum>() -> OptimizerRule {
    return Lars<momentum>{.trust_coefficient = options.trust_coefficient,
                          .eps = eps_or(1e-8, options),
                          .weight_decay = options.weight_decay,
                          .keep = static_cast<float>(options.momentum)};
  });
}

}  // namespace lockstep
