#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/json/members.h"
#include "data/files/csv_table.h"
#include "data/files/row_blocks.h"

/// Conversion of tables to samples for a network. TableEncoding is fitted to the training rows and applied to
/// any other table. It is a described struct, which json_of writes and JsonDocument::read reads. It does not
/// contain the names of classes, which belong to the data set, as for images.
namespace lockstep {

/// Column of features, and the elements that represent it in a sample.
struct TableColumn {
  std::string name = {};
  /// Texts of the training rows, ascending. Each text has an element, 1 if it is the cell's text, else 0.
  /// Empty for a column of numbers, which has one element, (number - mean) / deviation.
  std::vector<std::string> texts = {};
  double mean = 0.0;       ///< mean of the numbers in training rows; a gap counts as this number
  double deviation = 0.0;  ///< population standard deviation of the same numbers; 0: the element is 0
  bool gaps = false;       ///< whether training rows have gaps; if so, one more element: 1 for a gap, else 0

  std::size_t elements() const { return (texts.empty() ? 1 : texts.size()) + (gaps ? 1 : 0); }
  bool operator==(const TableColumn&) const = default;
};
LOCKSTEP_MEMBERS(TableColumn, name, texts, mean, deviation, gaps)

struct TableEncoding {
  std::vector<TableColumn> columns = {};  ///< in the order of their elements
  std::string label_column = {};

  /// Number of elements of a sample.
  std::size_t elements() const;
  /// Whether a row's codes equal its elements, i.e. all columns are numbers without gaps.
  bool codes_are_elements() const;
  /// Writes a sample of elements() elements, computed from the codes of its row.
  void write_elements(std::span<const float> codes, std::span<float> elements) const;

  bool operator==(const TableEncoding&) const = default;
};
LOCKSTEP_MEMBERS(TableEncoding, columns, label_column)

/// Rows of a table with one code per column, which takes less memory than the elements. A code is the element
/// of a number, the index of a text in TableColumn::texts, -1 for a text that is not in this list, or NaN for
/// a missing value.
struct EncodedTable {
  RowLabels labels = {};
  RowBlocks<float> codes{0};               ///< [row][column]
  std::vector<std::string> warnings = {};  ///< lines for the user

  std::size_t rows() const { return labels.rows(); }
};

/// Maximum number of distinct texts in a column of training rows.
inline constexpr std::size_t most_column_texts = 64;

/// Encoding of tables with the columns of `train`. A column holds texts if none of its cells is a number, or
/// if it also has texts, its numbers are whole and it has at most 16 different values ("0", "1", "2", "3+").
/// Sums are added in the order of the rows in double. Throws Error(data) for columns that have dates, more
/// than most_column_texts different texts, or no values (naming all these columns); for a text among numbers
/// (naming its line); and for numbers that are too large to be squared and added.
TableEncoding fit_table_encoding(const CsvTable& train);

/// Encodes a table that has the columns of the encoding, in the same order. Releases cells while writing
/// codes, so the memory for both is never needed at once. Throws Error(data) naming the line of a text in
/// a column of numbers. Warns of columns that identify rows, of spellings of a number that count as one text,
/// and of texts that the training rows do not have.
EncodedTable encode_table(CsvTable table, const TableEncoding& encoding);

/// Reads a table that may have more columns than the encoding, in any order: columns are found by name.
/// Labels are read from `label_column`; if it is empty, no labels are read. Throws Error(data) like
/// parse_csv_table and encode_table, and for missing columns (naming them). Warns of spellings of numbers,
/// and of texts that the training rows do not have.
EncodedTable read_encoded_table(CsvReader& reader, const TableEncoding& encoding,
                                const std::string& label_column);

}  // namespace lockstep
