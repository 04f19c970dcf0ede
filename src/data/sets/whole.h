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

/// Opens all samples of a data set: the training samples, then those for validation, then those for testing.
/// Fractions in `options` have no effect. `table`: encoding of tables; null: it follows from their training
/// rows. Collective. Throws as open_dataset; Error(data) for a row with a class that `table` does not have.
std::unique_ptr<Dataset> open_whole(const World& world, DatasetOptions options, const TrainedTable* table);

/// Data sets of equal shape, encoding, task and classes, one after the other. `parts`: at least one.
std::unique_ptr<Dataset> join(std::vector<std::unique_ptr<Dataset>> parts);

}  // namespace lockstep
