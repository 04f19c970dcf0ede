#pragma once

#include "ops/cpu/op.h"
#include "ops/plan.h"

namespace lockstep::cpu {

/// Compiles `graph` for CPU executors. The plan keeps a copy of what it needs of the graph.
std::unique_ptr<Plan> make_plan(const Graph& graph, const ArenaLayout& layout, const PlanOptions& options,
                                Level level);

}  // namespace lockstep::cpu
