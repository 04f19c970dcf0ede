#pragma once

#include <variant>

#include "optim/rules/adamw.h"
#include "optim/rules/lamb.h"
#include "optim/rules/lars.h"
#include "optim/rules/sgd.h"

namespace lockstep {

struct OptimizerRule {
  using Variant = std::variant<Sgd<Momentum::none>, Sgd<Momentum::classic>, Sgd<Momentum::nesterov>, AdamW,
                               Lars<Momentum::none>, Lars<Momentum::classic>, Lars<Momentum::nesterov>, Lamb>;
  Variant value;
};

/// Makes the rule `options.name`. Throws Error(usage) for an unknown name or impossible options.
OptimizerRule make_rule(const OptimizerOptions& options);

}  // namespace lockstep
