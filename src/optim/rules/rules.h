#pragma once

#include <variant>

#include "optim/rules/adamw.h"
#include "optim/rules/lamb.h"
#include "optim/rules/lars.h"
#include "optim/rules/sgd.h"

namespace lockstep {

using OptimizerRule =
    std::variant<Sgd<Momentum::none>, Sgd<Momentum::classic>, Sgd<Momentum::nesterov>, AdamW,
                 Lars<Momentum::none>, Lars<Momentum::classic>, Lars<Momentum::nesterov>, Lamb>;

/// The rule called `options.name`. Throws Error(usage) for an unknown name or impossible options.
OptimizerRule make_rule(const OptimizerOptions& options);

// One file each. They throw Error(usage) for impossible options, and for those that other rules have only.
OptimizerRule make_sgd(const OptimizerOptions& options);
OptimizerRule make_adamw(const OptimizerOptions& options);
OptimizerRule make_lars(const OptimizerOptions& options);
OptimizerRule make_lamb(const OptimizerOptions& options);

}  // namespace lockstep
