#pragma once

#include <memory>

#include "data/files/table_encoding.h"
#include "lockstep/dataset.h"

namespace lockstep {

/// A model's encoding of tables, and its classes or the unit of its number.
struct TrainedTable {
  TableEncoding encoding = {};
  Names classes = {};  ///< empty: it predicts a number
  TargetScale scale = {};
};

/// Opens all samples of a data set: those of its training, validation and test part, one after the other. The
/// options that would hold some out do not matter. `table`: how tables are read, instead of by their training
/// rows; null: by those. Collective. Throws as open_dataset; Error(data) for a row with a class that `table`
/// does not have.
std::unique_ptr<Dataset> open_whole(const World& world, DatasetOptions options, const TrainedTable* table);

/// Data sets of equal shape, encoding, task and classes, one after the other. `parts`: at least one.
std::unique_ptr<Dataset> join(std::vector<std::unique_ptr<Dataset>> parts);

}  // namespace lockstep
