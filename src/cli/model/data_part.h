#pragma once

#include <memory>
#include <string>

#include "cli/model/saved_model.h"
#include "lockstep/dataset.h"
#include "lockstep/field.h"
#include "lockstep/world.h"

namespace lockstep {

/// Part of a data set for a saved model.
enum class Split { test, validation, train, all };
inline Names choices_of(Split) { return {"test", "validation", "train", "all"}; }

/// The word before "samples" in messages: "training", "test" or "validation"; empty for all samples.
std::string adjective_of(Split split);

/// The samples that a split names, and what owns them.
struct DataPart {
  Split split = Split::test;
  DatasetPair data = {};
  std::unique_ptr<Dataset> whole = nullptr;  ///< Split::all: all samples; else null

  const Dataset& samples() const {
    if (whole) return *whole;
    return split == Split::train ? *data.train : split == Split::test ? *data.test : *data.validation;
  }
};

/// Opens samples to measure a model. Those of Split::all are read as the model reads them: the columns of
/// tables are encoded as its own. Collective. Throws as open_dataset and check_kind, and Error(usage) if
/// there is no such part.
DataPart open_part(const World& world, const DatasetOptions& options, Split split, const SavedModel& model);

}  // namespace lockstep
