#pragma once

#include "data/files/csv_table.h"
#include "lockstep/dataset.h"

namespace lockstep {

/// Rows of two tables as vectors of features, standardised by the training rows' statistics. Throws
/// Error(data) when the columns differ, `train` has a single class, or `test` has one that `train` lacks
/// (naming its line).
DatasetPair make_csv_datasets(CsvTable train, CsvTable test);

/// Moves a part of the rows, chosen by a hash of their number, to a second table. Throws Error(data) when one
/// of both is left without rows.
CsvTable split_off_test_rows(CsvTable& table, double fraction);

}  // namespace lockstep
