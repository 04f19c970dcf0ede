#pragma once

#include <memory>
#include <string>

#include "cli/model/saved_model.h"
#include "lockstep/dataset.h"
#include "lockstep/field.h"
#include "lockstep/world.h"

namespace lockstep {

/// Part of a data set on which a saved model is measured.
enum class Split { test, validation, train, all };
inline Names choices_of(Split) { return {"test", "validation", "train", "all"}; }

/// The word before "samples" in messages: "training", "test" or "validation"; empty for all samples.
std::string adjective_of(Split split);

/// The samples of a split, and their owners.
struct DataPart {
  Split split = Split::test;
  DatasetPair data = {};
  std::unique_ptr<Dataset> whole = nullptr;  ///< Split::all: all samples; else null

  const Dataset& samples() const {
    if (whole) return *whole;
    return split == Split::train ? *data.train : split == Split::test ? *data.test : *data.validation;
  }
};

/// Opens the samples to measure a model on. For Split::all, table columns are encoded as the model's.
/// Collective. Throws as open_dataset and check_kind do, and Error(usage) if the data set has no such part.
DataPart open_part(const World& world, const DatasetOptions& options, Split split, const SavedModel& model);

}  // namespace lockstep
