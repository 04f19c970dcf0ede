#pragma once

#include "lockstep/dataset.h"
#include "lockstep/field.h"

namespace lockstep {

/// Part of a data set for a saved model.
enum class Split { test, train };
inline Names choices_of(Split) { return {"test", "train"}; }

inline const Dataset& part_of(const DatasetPair& data, Split split) {
  return split == Split::test ? *data.test : *data.train;
}

}  // namespace lockstep
