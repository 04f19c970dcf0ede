#pragma once

#include <memory>

#include "data/files/table_encoding.h"
#include "lockstep/dataset.h"

namespace lockstep {

/// A model's encoding of tables, and its classes or the unit of the number that it predicts.
struct TrainedTable {
  TableEncoding encoding = {};
  Names classes = {};  ///< empty: the model predicts a number
  TargetScale scale = {};
};

/// Opens all samples of a data set: the training, validation and test samples, in this order. Fractions in
/// `options` have no effect. `table`: encoding of tables; if null, it is fitted to the training rows.
/// Collective. Throws like open_dataset, and Error(data) for a row with a class that `table` does not have.
std::unique_ptr<Dataset> open_whole(const World& world, DatasetOptions options, const TrainedTable* table);

/// Concatenates at least one data set, all of equal shape, encoding, task and classes.
std::unique_ptr<Dataset> join(std::vector<std::unique_ptr<Dataset>> parts);

}  // namespace lockstep
