#pragma once

#include <variant>

#include "lockstep/network.h"

namespace lockstep {

/// Which function plans which operation, for all backends: `plan_conv2d(request)` and so on, of the namespace
/// that the request is of. The input needs no plan.
template <class Op, class Request>
struct PlanOperation {
  const Request& request;
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

}  // namespace lockstep
