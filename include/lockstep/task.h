#pragma once

#include "lockstep/field.h"

namespace lockstep {

/// Kind of prediction that a network is trained for. It decides the targets of samples, the loss and the
/// metrics.
enum class Task {
  classification,  ///< one class per sample: softmax and cross-entropy
};
inline Names choices_of(Task) { return {"classification"}; }

}  // namespace lockstep
