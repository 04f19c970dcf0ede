#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/files/csv.h"
#include "data/files/row_blocks.h"

namespace lockstep {

/// Numbers and classes of a table with a header line: every column but one is a feature.
struct CsvTable {
  std::string name = {};                   ///< of the file
  std::vector<std::string> features = {};  ///< names of the columns, in order
  std::string label_column = {};
  RowBlocks<double> values{0};           ///< [row][feature], all finite
  std::vector<std::string> labels = {};  ///< of the rows, as written
  std::vector<std::size_t> lines = {};   ///< on which the rows begin

  std::size_t rows() const { return labels.size(); }
};

/// Parses a table. `label_column` empty: the one called "label", or else the last. Throws Error(data) naming
/// line and column: no header (or one of numbers) or rows, a column twice, rows of another length, fields
/// that are no finite numbers, classes that are empty, no such label column (naming those there are).
CsvTable parse_csv_table(std::string_view text, const std::string& name, const std::string& label_column);
/// The same from what `reader` has not read yet.
CsvTable parse_csv_table(CsvReader& reader, const std::string& label_column);

/// The names of all classes in `labels`, each once: ascending as numbers where all are whole numbers, else
/// as texts.
std::vector<std::string> sorted_classes(const std::vector<std::string>& labels);

/// Mean and population standard deviation of each feature, summed in the order of the rows in double.
/// Throws Error(data) for a column whose numbers are too large to be squared and added.
struct CsvStatistics {
  std::vector<double> mean;
  std::vector<double> deviation;
};
CsvStatistics csv_statistics(const CsvTable& table);

/// (value - mean) / deviation, rounded to float; constant columns become 0. Consumes `values`, so that the
/// memory of both is never needed at once.
RowBlocks<float> standardized(RowBlocks<double>& values, const CsvStatistics& statistics);

}  // namespace lockstep
