#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "data/files/csv.h"
#include "data/files/csv_table.h"
#include "lockstep/field.h"

namespace lockstep {

/// Table that gives each image any number of labels, or a class.
struct LabelTable {
  std::string file = {};
  std::string image_column = {};         ///< name of the column that names the images
  std::vector<std::string> labels = {};  ///< names of all labels, or of all classes
  char separator = '\0';                 ///< between names in a column of names; 0: a column per label
  std::vector<std::string> images = {};  ///< [row] name of the image, as written
  std::vector<std::size_t> lines = {};   ///< [row] line on which the row begins
  std::vector<float> targets = {};       ///< [row][label] 1 if it applies, else 0; empty if there are classes
  std::vector<int> classes = {};         ///< [row] class, as index in `labels`; empty if there are targets
};

/// Reads a table with a header, without the columns `drop_columns`. Images are named by the first column
/// whose first row is the name of an image file; if there is none, by the first column. The other columns are
/// either labels, with 0 or 1 in each row; or a single column, whose cells list the names of the labels that
/// apply (or are empty), separated by the first of | ; , that occurs in the column, else by spaces. In the
/// second form, the labels are in ascending order of their names. With `train`, the table must have the
/// labels and the form of `train`.
///
/// Throws Error(data) like read_csv_header and next_csv_row; naming the line for a cell that is neither 0 nor
/// 1, a row without an image, a label name that is empty or unknown, and texts that are not UTF-8; for other
/// columns than in `train`, no rows, and a column of names without any name; and for an unknown column to
/// drop.
LabelTable read_label_table(CsvReader& reader, const Names& drop_columns = {},
                            const LabelTable* train = nullptr);

/// Throws Error(data) naming the table if it has a single label, or if no label applies to any row.
void check_several_labels(const LabelTable& table);

/// Reads a table that gives each image a class. Classes are in the column that the options name, else in the
/// column "label", else in the only column except the names of the images, which are found as in
/// read_label_table. Other columns are ignored. Classes are in ascending order of their names; with `train`,
/// they are the classes of `train`.
///
/// Throws like read_label_table; Error(usage) if the column of the classes is ambiguous; Error(data) for an
/// unknown column of classes, and for a class that is empty, unknown or has control characters.
LabelTable read_class_table(CsvReader& reader, const CsvOptions& options = {},
                            const LabelTable* train = nullptr);

}  // namespace lockstep
