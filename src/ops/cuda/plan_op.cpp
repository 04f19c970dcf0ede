#include "ops/cuda/op.h"

namespace lockstep::cuda {

Op plan_op(const OpRequest& request) {
  return std::visit([&](const auto& options) { return plan(options, request); }, request.node.operation);
}

/// The input is loaded, not computed.
Op plan(const Input& /*options*/, const OpRequest& /*request*/) { return {}; }

}  // namespace lockstep::cuda
