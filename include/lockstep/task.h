#pragma once

#include "lockstep/field.h"

namespace lockstep {

/// Kind of prediction that a network is trained for. Determines the targets of samples, the loss and the
/// metrics.
enum class Task {
  classification,  ///< one class per sample: softmax and cross-entropy
  regression,      ///< a number per sample: squared error
  multilabel,      ///< for each label, whether it applies to the sample: binary cross-entropy with logits
};
inline Names choices_of(Task) { return {"classification", "regression", "multilabel"}; }

/// Unit of the numbers to predict: a network is trained on, and returns, (number - mean) / deviation.
struct TargetScale {
  double mean = 0.0;
  double deviation = 1.0;

  bool operator==(const TargetScale&) const = default;
};

template <OptionsOf<TargetScale> S, class Visitor>
void visit(S& scale, Visitor&& field) {
  auto& [mean, deviation] = scale;
  field(mean, {.name = "mean"});
  field(deviation, {.name = "deviation"});
}

}  // namespace lockstep
