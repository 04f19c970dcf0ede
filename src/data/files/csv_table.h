#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/files/csv.h"
#include "data/files/csv_cell.h"
#include "data/files/row_blocks.h"
#include "lockstep/field.h"

namespace lockstep {

/// Labels of a table's rows, and the lines on which the rows begin.
struct RowLabels {
  std::string file = {};
  char separator = ',';                 ///< between the fields of a line
  std::string column = {};              ///< empty: the rows have no labels
  std::vector<std::string> texts = {};  ///< [row], as written, without outer spaces
  std::vector<std::size_t> lines = {};  ///< [row] line on which the row begins

  std::size_t rows() const { return lines.size(); }
  /// Appends the record that `reader` read last, with its label `field`. Throws Error(data) for a label that
  /// is empty or not UTF-8.
  void append(const CsvReader& reader, std::string_view field);
  /// Throws Error(data) about the label of a row, naming its line.
  [[noreturn]] void fail(std::size_t row, const std::string& what) const;
};

/// Names of all classes in `labels`, each once, ascending: as numbers if all are whole numbers, else as
/// texts.
std::vector<std::string> sorted_classes(const std::vector<std::string>& labels);

/// [row] position of the row's label in `classes`. Throws Error(data) naming the line of a label that is not
/// in `classes`.
std::vector<int> class_numbers(const RowLabels& labels, const std::vector<std::string>& classes);

/// [row] the row's label as a finite number. Throws Error(data) naming the line of a label that is not one.
std::vector<double> label_numbers(const RowLabels& labels);

/// Distinct texts of a column, in the order of their first rows. At most 1024 texts and 1 MiB in total are
/// stored, far more than a column of features may have.
class CsvTexts {
 public:
  /// Position returned for all texts beyond these limits.
  static constexpr std::uint32_t rest = 1024;

  /// Position of `text`, which is added if it is new.
  std::uint32_t add(std::string_view text);
  /// Number of stored texts.
  std::size_t size() const { return texts_.size(); }
  /// `position` must not be `rest`.
  const std::string& operator[](std::uint32_t position) const { return texts_[position]; }

 private:
  std::vector<std::string> texts_;
  std::map<std::string, std::uint32_t, std::less<>> positions_;
  std::size_t bytes_ = 0;
};

/// If most of `texts` are numbers in another notation (is_other_number), returns one of them; else empty.
/// Ambiguous texts count as numbers if another text can only be a number. Otherwise, possible pairs of
/// choices (1,2) count if there are at least three, not all ascending, and possible identifiers (555 123) if
/// one begins with fewer than three digits. Pairs never count if `texts` also has longer lists.
std::string other_number_in(const CsvTexts& texts);

/// Text to append to the advice "write numbers like 1234.5": also suggests separating the cells by semicolons
/// if `number` would then be read as a number; else empty.
std::string semicolon_advice(std::string_view number);

/// Misleading spellings of the numbers of a column.
class NumberSpellings {
 public:
  /// Maximum number of distinct whole numbers whose spellings are compared: as many as a column of texts may
  /// have.
  static constexpr std::size_t most = 16;

  /// `number` is the value that csv_number returned for the cell `text`.
  void add(std::string_view text, double number, std::size_t line);
  /// Two spellings of one whole number, in quotes; empty if none were found.
  const std::string& equal_numbers() const { return equal_numbers_; }
  /// Part of a warning that names a number with a decimal comma, a number with a decimal point and their
  /// lines. Empty unless the column has both.
  std::string mixed_decimals() const;

 private:
  struct Decimal {
    std::string text = {};
    double number = 0.0;
    std::size_t line = 0;  ///< 0: no such number was found
  };

  Decimal comma_;                            ///< the first number with a decimal comma
  Decimal point_;                            ///< the first number with a decimal point
  std::map<double, std::string> spellings_;  ///< first spelling of each whole number
  bool too_many_ = false;                    ///< whether there were more than `most` whole numbers
  std::string equal_numbers_;
};

struct CsvColumn {
  std::string name = {};
  CsvTexts texts = {};
  NumberSpellings spellings = {};
  /// Whether the cells identify the rows, in a table of at least 10 rows: they are whole numbers that
  /// increase by one, or a different text in each row.
  bool row_id = false;
};

/// Cells of a table with a header line. All columns but the label column are features.
struct CsvTable {
  RowLabels labels = {};
  std::vector<CsvColumn> columns = {};     ///< features, in the order of the file
  RowBlocks<CsvCell> cells{0};             ///< [row][feature]
  std::vector<std::string> warnings = {};  ///< lines for the user

  std::size_t rows() const { return labels.rows(); }
};

/// Name of the label column, unless an option names another. In a table without this name, the last column is
/// the label column.
inline constexpr std::string_view usual_label_column = "label";

struct CsvOptions {
  std::string label_column = {};  ///< empty: see usual_label_column
  Names drop_columns = {};        ///< columns that are skipped
};

/// Names of all columns: the next record of `reader`, without outer spaces. If column N (counted from 1) has
/// no name, it is called "columnN". Throws Error(data) for a missing header, a header that consists of
/// numbers, repeated names, and names that are not UTF-8. `known`: column names that do not count as numbers.
std::vector<std::string> read_csv_header(CsvReader& reader, std::span<const std::string> known = {});

/// [column] whether `drop_columns` names the column. The option --drop-columns is split at all commas, so
/// parts are joined until they name a column, which may be in double quotes: {"\"date", " time\""} is the
/// column "date, time". Throws Error(data) for an unknown column.
std::vector<bool> dropped_columns(const CsvReader& reader, const std::vector<std::string>& header,
                                  const Names& drop_columns);

/// Reads the next record into `fields`; returns false at the end. Throws Error(data) for a record that does
/// not have `columns` fields.
bool next_csv_row(CsvReader& reader, std::size_t columns, std::vector<std::string>& fields);

/// Throws Error(data) saying that the table has only a header.
[[noreturn]] void fail_without_rows(const CsvReader& reader);

/// Appends a line for the user if some of `columns` have both numbers with a decimal comma and numbers with a
/// decimal point. `file`: name of the table.
void warn_of_mixed_decimals(const std::string& file, const std::vector<CsvColumn>& columns,
                            std::vector<std::string>& warnings);

/// Parses a table from the rest of `reader`. Throws Error(data) like the functions above, and for unknown
/// columns (naming the known ones), no features, no rows, and texts that are not UTF-8. Warns of names that
/// seem to be values, of texts that seem to be numbers, of texts in columns that are mostly numbers, and of
/// columns with both decimal commas and decimal points.
CsvTable parse_csv_table(CsvReader& reader, const CsvOptions& options = {});

}  // namespace lockstep
