#pragma once

#include "lockstep/dataset.h"
#include "lockstep/error.h"
#include "lockstep/field.h"
#include "lockstep/world.h"

namespace lockstep {

/// Part of a data set for a saved model.
enum class Split { test, validation, train };
inline Names choices_of(Split) { return {"test", "validation", "train"}; }

/// The part of `data` that `split` names. Collective. Throws Error(usage) on all ranks if there is none.
inline const Dataset& part_of(const World& world, const DatasetPair& data, Split split) {
  if (split == Split::train) return *data.train;
  if (split == Split::test) return *data.test;
  world.agree([&] {
    if (data.validation) return;
    throw Error(Category::usage,
                data.tests_on_validation
                    ? "the validation part is the test set here, as there is no other: measure that"
                    : "the data has no validation part, and no validation fraction is given",
                "split");
  });
  return *data.validation;
}

}  // namespace lockstep
