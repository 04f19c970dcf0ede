#include "optim/rules/sgd.h"

#include "optim/rules/rules.h"

namespace lockstep {

OptimizerRule make_sgd(const OptimizerOptions& options) {
  return with_momentum(options, [&]<Momentum momentum>() -> OptimizerRule {
    return Sgd<momentum>{.weight_decay = static_cast<float>(options.weight_decay),
                         .keep = static_cast<float>(options.momentum)};
  });
}

}  // namespace lockstep
