#pragma once

#include "data/files/csv_table.h"
#include "lockstep/dataset.h"

namespace lockstep {

/// Data sets of the tables' rows as vectors of features, standardised by the statistics of the training rows.
/// Throws Error(data) if the columns differ, `train` has a single class, or `test` has a class that `train`
/// lacks (naming its line).
DatasetPair make_csv_datasets(CsvTable train, CsvTable test);

/// Moves the rows whose hashed number, in [0, 1), is below `fraction` to a second table. Throws Error(data)
/// if either table would have no rows.
CsvTable split_off_test_rows(CsvTable& table, double fraction);

}  // namespace lockstep
