#include "optim/rules/lamb.h"

#include "optim/rules/rules.h"

namespace lockstep {

OptimizerRule make_lamb(const OptimizerOptions& options) {
  return Lamb{.beta1 = options.beta1,
              .beta2 = options.beta2,
              .eps = static_cast<float>(options.eps > 0.0 ? options.eps : 1e-6),
              .weight_decay = static_cast<float>(options.weight_decay)};
}

}  // namespace lockstep
