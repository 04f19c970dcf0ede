#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/files/csv_table.h"
#include "data/files/table_encoding.h"
#include "lockstep/dataset.h"

namespace lockstep {

/// Data set of a table's rows, as samples of `encoding`. `labels`: [row], in [0, number of classes); empty:
/// the table has no labels, and each row has label 0.
std::unique_ptr<Dataset> make_csv_dataset(const TableEncoding& encoding, EncodedTable table,
                                          std::vector<int> labels, std::vector<std::string> classes);

/// Data sets of tables in the encoding of the training rows. Throws Error(data) if `train` has a single
/// class, or another part has a class that `train` lacks (naming its line).
DatasetPair make_csv_datasets(const TableEncoding& encoding, EncodedTable train,
                              std::optional<EncodedTable> test);

/// Moves the rows whose hashed number, in [0, 1), is below `fraction` to a second table. Throws Error(data)
/// if either table would have no rows.
CsvTable split_off_test_rows(CsvTable& table, double fraction);

}  // namespace lockstep
