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
  std::vector<std::string> names = {};  ///< of the classes, or of the number to predict
  std::vector<int> labels = {};         ///< classification: [row], in [0, number of names); empty: all 0
  std::vector<float> numbers = {};      ///< regression: [row], in the unit of `scale`
  TargetScale scale = {};
};

/// Data set of a table's rows, as samples of `encoding`.
std::unique_ptr<Dataset> make_csv_dataset(const TableEncoding& encoding, EncodedTable table,
                                          RowTargets targets);

/// Data sets of tables in the encoding of the training rows. Throws Error(data) for classification if `train`
/// has a single class, or another part has a class that `train` lacks (naming its line); for regression if a
/// label is not a number (naming its line), or all of `train` are equal or too large to be squared and added.
DatasetPair make_csv_datasets(Task task, const TableEncoding& encoding, EncodedTable train,
                              std::optional<EncodedTable> test, std::optional<EncodedTable> validation = {});

/// Opens the tables of a data set, its training, validation and test rows as far as there are such, as
/// samples of a model. The label column of `options` or, if it names none, the model's. Throws Error(data) as
/// read_encoded_table, for a folder without tables, and for a label that the model does not have (naming its
/// line).
std::vector<std::unique_ptr<Dataset>> read_labelled_tables(const DatasetOptions& options,
                                                           const TrainedTable& model);

/// Moves `fraction` of the rows of each class, or for regression of all rows, to a second table
/// (data/sets/held_out.h). Keys are hashes of the rows' numbers. Throws Error(data) if it would have no rows.
CsvTable split_off_test_rows(CsvTable& table, double fraction, Task task = Task::classification,
                             DataUse use = DataUse::training);

}  // namespace lockstep
