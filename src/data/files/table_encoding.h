#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/json/members.h"
#include "data/files/csv_table.h"
#include "data/files/row_blocks.h"

/// Tables as samples for a network. The encoding is fitted to the training rows and applied to any other
/// table; it is a described struct, which json_of writes and JsonDocument::read reads. Labels are not part of
/// it: names of classes belong to the data set, as those of images do.
namespace lockstep {

/// Column of features, and its elements in a sample.
struct TableColumn {
  std::string name = {};
  /// Texts of the training rows, ascending, with an element each: 1 for the cell's text, else 0. Empty: a
  /// column of numbers, with one element, (number - mean) / deviation.
  std::vector<std::string> texts = {};
  double mean = 0.0;       ///< of the numbers in training rows; a gap counts as this number
  double deviation = 0.0;  ///< of the same numbers (population standard deviation); 0: the element is 0
  bool gaps = false;       ///< whether training rows have gaps: one more element, which is 1 for a gap

  std::size_t elements() const { return (texts.empty() ? 1 : texts.size()) + (gaps ? 1 : 0); }
  bool operator==(const TableColumn&) const = default;
};
LOCKSTEP_MEMBERS(TableColumn, name, texts, mean, deviation, gaps)

struct TableEncoding {
  std::vector<TableColumn> columns = {};  ///< in the order of their elements
  std::string label_column = {};

  /// Number of elements of a sample.
  std::size_t elements() const;
  /// Whether a row's codes are its elements: all columns are numbers without gaps.
  bool codes_are_elements() const;
  /// Writes a sample of `elements()` elements from the codes of its row.
  void write_elements(std::span<const float> codes, std::span<float> elements) const;

  bool operator==(const TableEncoding&) const = default;
};
LOCKSTEP_MEMBERS(TableEncoding, columns, label_column)

/// Rows of a table with one code per column, which take less memory than their elements: the element of a
/// number, the position of a text in TableColumn::texts, -1 for a text that is not among them, NaN for a gap.
struct EncodedTable {
  RowLabels labels = {};
  RowBlocks<float> codes{0};               ///< [row][column]
  std::vector<std::string> warnings = {};  ///< lines for the user

  std::size_t rows() const { return labels.rows(); }
};

/// Most texts that a column of training rows may have.
inline constexpr std::size_t most_column_texts = 64;

/// Encoding of tables with the columns of `train`. A column is one of texts if none of its cells is a number,
/// or if its numbers are whole and it has at most 16 different values ("0", "1", "2", "3+"). Sums are added
/// in the order of the rows in double. Throws Error(data) for columns, naming all of them, that have dates,
/// more than most_column_texts different texts, or no values; and for a text among numbers (naming its line),
/// and numbers that are too large to be squared and added.
TableEncoding fit_table_encoding(const CsvTable& train);

/// Encodes a table that has the columns of the encoding, in its order. Releases the cells while it writes the
/// codes, so that the memory of both is never needed at once. Throws Error(data) naming the line of a text in
/// a column of numbers. Warns of columns that identify rows, of spellings of a number that count as one text,
/// and of texts that the training rows do not have.
EncodedTable encode_table(CsvTable table, const TableEncoding& encoding);

/// Reads a table that may have more columns than the encoding, in any order: they are found by name. Labels
/// are those of `label_column`; empty: the table has none, or they are not used. Throws Error(data) as
/// parse_csv_table and encode_table, and for missing columns (naming them). Warns of spellings of numbers,
/// and of texts that the training rows do not have.
EncodedTable read_encoded_table(CsvReader& reader, const TableEncoding& encoding,
                                const std::string& label_column);

}  // namespace lockstep
