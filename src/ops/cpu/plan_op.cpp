#include "ops/cpu/op.h"
#include "ops/plan_operation.h"

namespace lockstep::cpu {

Op plan_op(const OpRequest& request) {
  return std::visit(PlanOperation<Op, OpRequest>{request}, request.node.operation);
}

}  // namespace lockstep::cpu
