#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "data/sets/csv_dataset.h"

namespace lockstep {

/// Table read from `text`, the contents of a file t.csv.
inline CsvTable parsed(std::string_view text, const CsvOptions& options = {}) {
  CsvReader reader(text, "t.csv");
  return parse_csv_table(reader, options);
}

/// Text of a table with a column x of these cells, and labels.
inline std::string column(const std::vector<std::string>& cells, char separator = ';') {
  std::string text = fmt::format("x{}label\n", separator);
  for (const std::string& cell : cells) text += fmt::format("{}{}a\n", cell, separator);
  return text;
}

/// Table read from `text`, the contents of a file t.csv, encoded like its training rows, with labels.
inline EncodedTable encoded(std::string_view text, const TableEncoding& encoding) {
  CsvReader reader(text, "t.csv");
  return read_encoded_table(reader, encoding, encoding.label_column);
}

/// Data sets of two files t.csv with these contents.
inline DatasetPair csv_datasets(std::string_view train, std::string_view test,
                                Task task = Task::classification) {
  CsvTable table = parsed(train);
  const TableEncoding encoding = fit_table_encoding(table);
  return make_csv_datasets(task, encoding, encode_table(std::move(table), encoding), encoded(test, encoding));
}

}  // namespace lockstep
