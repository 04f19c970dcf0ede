#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/files/csv_table.h"
#include "data/files/table_encoding.h"
#include "data/sets/parts.h"
#include "data/sets/whole.h"
#include "lockstep/dataset.h"

namespace lockstep {

/// Targets of a table's rows.
struct RowTargets {
  Task task = Task::classification;
  std::vector<std::string> names = {};  ///< names of the classes, or name of the number to predict
  std::vector<int> labels = {};         ///< classification: [row], in [0, number of names); empty: all 0
  std::vector<float> numbers = {};      ///< regression: [row], in the unit of `scale`
  TargetScale scale = {};
};

/// Data set of a table's rows, encoded as samples by `encoding`.
std::unique_ptr<Dataset> make_csv_dataset(const TableEncoding& encoding, EncodedTable table,
                                          RowTargets targets);

/// Data sets of tables in the encoding of the training rows. Throws Error(data) for classification if `train`
/// has a single class, or another part has a class that `train` lacks (naming its line); for regression if a
/// label is not a number (naming its line), or if the labels of `train` are all equal, or too large to be
/// squared and added.
DatasetPair make_csv_datasets(Task task, const TableEncoding& encoding, EncodedTable train,
                              std::optional<EncodedTable> test, std::optional<EncodedTable> validation = {});

/// Opens the existing tables of a data set (training, validation, test), encoded as samples for `model`.
/// Labels are read from the label column that `options` name, else from the model's label column.
/// Throws Error(data) like read_encoded_table, for a folder without tables, and for a label that the model
/// does not have (naming its line).
std::vector<std::unique_ptr<Dataset>> read_labelled_tables(const DatasetOptions& options,
                                                           const TrainedTable& model);

/// Moves `fraction` of the rows of each class (for regression, of all rows) to a second table
/// (data/sets/held_out.h). Keys are hashes of the row numbers. Throws Error(data) if the second table would
/// have no rows.
CsvTable split_off_test_rows(CsvTable& table, double fraction, Task task = Task::classification,
                             DataUse use = DataUse::training);

}  // namespace lockstep
