#include "optim/rules/lars.h"

#include "optim/rules/rules.h"

namespace lockstep {

OptimizerRule make_lars(const OptimizerOptions& options) {
  return with_momentum(options, [&]<Momentum momentum>() -> OptimizerRule {
    return Lars<momentum>{.trust_coefficient = options.trust_coefficient,
                          .eps = options.eps > 0.0 ? options.eps : 1e-8,
                          .weight_decay = options.weight_decay,
                          .keep = static_cast<float>(options.momentum)};
  });
}

}  // namespace lockstep
