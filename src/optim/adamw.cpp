#include "optim/adamw.h"

#include "optim/checks.h"
#include "optim/rules.h"

namespace lockstep {

OptimizerRule make_adamw(const OptimizerOptions& options) {
  check_used(options, {"--beta1", "--beta2", "--opt-eps"});
  check_betas(options);
  return AdamW{.beta1 = options.beta1,
               .beta2 = options.beta2,
               .eps = static_cast<float>(eps_or(1e-8, options)),
               .weight_decay = static_cast<float>(options.weight_decay)};
}

}  // namespace lockstep
