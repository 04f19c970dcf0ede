#include "optim/lamb.h"

#include "optim/checks.h"
#include "optim/rules.h"

namespace lockstep {

OptimizerRule make_lamb(const OptimizerOptions& options) {
  check_used(options, {"--beta1", "--beta2", "--opt-eps", "--always-adapt"});
  check_betas(options);
  return Lamb{.beta1 = options.beta1,
              .beta2 = options.beta2,
              .eps = static_cast<float>(eps_or(1e-6, options)),
              .weight_decay = static_cast<float>(options.weight_decay)};
}

}  // namespace lockstep
