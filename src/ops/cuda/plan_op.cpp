#include "ops/cuda/op.h"

namespace lockstep::cuda {
namespace {

struct PlanVisitor {
  const OpRequest& request;
  Op operator()(const Input&) const { return {}; }
  Op operator()(const Conv2d&) const { return plan_conv2d(request); }
  Op operator()(const Linear&) const { return plan_linear(request); }
  Op operator()(const BatchNorm2d&) const { return plan_batch_norm2d(request); }
  Op operator()(const Activation&) const { return plan_activation(request); }
  Op operator()(const MaxPool2d&) const { return plan_pool2d(request); }
  Op operator()(const AvgPool2d&) const { return plan_pool2d(request); }
  Op operator()(const AdaptiveAvgPool2d&) const { return plan_pool2d(request); }
  Op operator()(const Flatten&) const { return plan_flatten(request); }
  Op operator()(const Add&) const { return plan_add(request); }
  Op operator()(const Concat&) const { return plan_concat(request); }
  Op operator()(const Dropout&) const { return plan_dropout(request); }
};

}  // namespace

Op plan_op(const OpRequest& request) { return std::visit(PlanVisitor{request}, request.node.operation); }

}  // namespace lockstep::cuda
