#pragma once

#include <string>
#include <string_view>

#include "data/sets/csv_dataset.h"

namespace lockstep {

/// Table of the text of a file t.csv.
inline CsvTable parsed(std::string_view text, const CsvOptions& options = {}) {
  CsvReader reader(text, "t.csv");
  return parse_csv_table(reader, options);
}

/// Table of the text of a file t.csv, encoded as its training rows are, with labels.
inline EncodedTable encoded(std::string_view text, const TableEncoding& encoding) {
  CsvReader reader(text, "t.csv");
  return read_encoded_table(reader, encoding, encoding.label_column);
}

/// Data sets of the texts of two files t.csv.
inline DatasetPair csv_datasets(std::string_view train, std::string_view test,
                                Task task = Task::classification) {
  CsvTable table = parsed(train);
  const TableEncoding encoding = fit_table_encoding(table);
  return make_csv_datasets(task, encoding, encode_table(std::move(table), encoding), encoded(test, encoding));
}

}  // namespace lockstep
