#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/files/csv.h"
#include "data/files/row_blocks.h"

namespace lockstep {

/// Numbers and classes of a table with a header line. All columns but the label column are features.
struct CsvTable {
  std::string name = {};                   ///< name of the file
  std::vector<std::string> features = {};  ///< names of the columns, in order
  std::string label_column = {};
  RowBlocks<double> values{0};           ///< [row][feature], all finite
  std::vector<std::string> labels = {};  ///< [row], as written
  std::vector<std::size_t> lines = {};   ///< [row], on which the row begins

  std::size_t rows() const { return labels.size(); }
};

/// Parses a table. `label_column` empty: the column "label", or else the last one. Throws Error(data) naming
/// line and column for a missing header (or one of numbers) or no rows, repeated columns, rows of another
/// length, fields that are not finite numbers, empty classes, and an unknown label column (naming the known
/// ones).
CsvTable parse_csv_table(std::string_view text, const std::string& name, const std::string& label_column);
/// Parses a table from the rest of `reader`.
CsvTable parse_csv_table(CsvReader& reader, const std::string& label_column);

/// Names of all classes in `labels`, each once, ascending: as numbers if all are whole numbers, else as
/// texts.
std::vector<std::string> sorted_classes(const std::vector<std::string>& labels);

struct CsvStatistics {
  std::vector<double> mean;       ///< [feature]
  std::vector<double> deviation;  ///< [feature], population standard deviation
};
/// Statistics of each feature, added in the order of the rows in double. Throws Error(data) for a column
/// whose numbers are too large to be squared and added.
CsvStatistics csv_statistics(const CsvTable& table);

/// (value - mean) / deviation, rounded to float; constant columns become 0. Consumes `values`, so that the
/// memory of both is never needed at once.
RowBlocks<float> standardized(RowBlocks<double>& values, const CsvStatistics& statistics);

}  // namespace lockstep
